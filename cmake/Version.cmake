# kvsweep_version: link it to include "driver/version.hpp", the provenance of this build. What the configure step knows
# is filled in here; the commit is read at every build by WriteVersion.cmake, so that it is never stale.
set(KVSWEEP_MPI_VERSION "MPI ${MPI_C_VERSION}")
if(MPI_C_COMPILER)
  execute_process(COMMAND ${MPI_C_COMPILER} --showme:version OUTPUT_VARIABLE showme ERROR_QUIET)
  if(showme MATCHES "Open MPI ([0-9.a-z]+)")
    set(KVSWEEP_MPI_VERSION "Open MPI ${CMAKE_MATCH_1}")
  endif()
endif()

set(KVSWEEP_CUDA_VERSION "none")
set(KVSWEEP_NCCL_VERSION "none")
if(KVSWEEP_HAVE_CUDA)
  set(KVSWEEP_CUDA_VERSION ${CMAKE_CUDA_COMPILER_VERSION})
endif()
if(KVSWEEP_HAVE_NCCL)
  set(KVSWEEP_NCCL_VERSION ${NCCL_VERSION})
endif()

set(version_dir ${PROJECT_BINARY_DIR}/generated)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.hpp.in ${version_dir}/version.hpp.in @ONLY)
find_package(Git QUIET)
add_custom_target(kvsweep_version_header
  COMMAND ${CMAKE_COMMAND} -D GIT=${GIT_EXECUTABLE} -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
          -D TEMPLATE=${version_dir}/version.hpp.in -D HEADER=${version_dir}/driver/version.hpp
          -D KERNELS_TEMPLATE=${PROJECT_SOURCE_DIR}/cmake/kernels_digest.hpp.in
          -D KERNELS_HEADER=${version_dir}/version/kernels_digest.hpp
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteVersion.cmake
  BYPRODUCTS ${version_dir}/driver/version.hpp ${version_dir}/version/kernels_digest.hpp
  COMMENT "" VERBATIM)

add_library(kvsweep_version INTERFACE)
target_include_directories(kvsweep_version INTERFACE ${version_dir})
add_dependencies(kvsweep_version kvsweep_version_header)
