# One paragraph at the end of the configure step: what was found, what will be built.
set(backends "sim")
foreach(backend cpu cuda)
  if(EXISTS ${PROJECT_SOURCE_DIR}/workers/backends/${backend}/CMakeLists.txt)
    if(NOT backend STREQUAL "cuda" OR KVSWEEP_HAVE_CUDA)
      list(APPEND backends ${backend})
    endif()
  endif()
endforeach()
if(CURL_FOUND)
  list(APPEND backends server)
endif()
list(JOIN backends ", " backends)

if(KVSWEEP_HAVE_CUDA)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
  set(cuda "${CMAKE_CUDA_COMPILER_VERSION} for sm ${architectures}")
elseif(KVSWEEP_CUDA)
  set(cuda "none (no nvcc)")
else()
  set(cuda "none (KVSWEEP_CUDA=OFF)")
endif()

set(curl "none: this kvsweep will refuse sweeps of backend server")
if(CURL_FOUND)
  set(curl "${CURL_VERSION_STRING}")
endif()
set(nccl "none")
if(KVSWEEP_HAVE_NCCL)
  set(nccl "${NCCL_VERSION}")
endif()
set(tests "no")
if(KVSWEEP_TESTS)
  set(tests "yes, Catch2 ${Catch2_VERSION}")
endif()
set(sanitizers "none")
if(KVSWEEP_SANITIZE)
  set(sanitizers "${KVSWEEP_SANITIZE}")
endif()

message(STATUS "kvsweep ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}
     backends     ${backends}
     MPI          ${KVSWEEP_MPI_VERSION}
     HDF5         ${HDF5_VERSION}
     Boost        ${Boost_VERSION}
     toml++       ${tomlplusplus_VERSION}
     JSON         ${nlohmann_json_VERSION}
     archives     packed by ${kvsweep_deflate}
     OpenSSL      ${OPENSSL_VERSION}
     libcurl      ${curl}
     CUDA         ${cuda}
     NCCL         ${nccl}
     sanitizers   ${sanitizers}
     tests        ${tests}
     binaries     ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
