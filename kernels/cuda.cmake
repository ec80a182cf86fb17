# The CUDA kernels and their launchers: one folder per operation, and device/ for common parts.
if(KVSWEEP_HAVE_CUDA)
  file(GLOB sources CONFIGURE_DEPENDS attention/*.cu attention/*/*.cu blocks/*.cu device/*.cu gated_gemm/*.cu layers/*.cu log/*.cu small_gemm/*.cu)
  kvsweep_library(kernels_cuda SOURCES ${sources}
    PUBLIC kernel_layout CUDA::cudart_static)
  target_compile_options(kernels_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo -Xcompiler=-Wall,-Wextra $<$<BOOL:${KVSWEEP_WERROR}>:-Werror=all-warnings>>)
  # Instructions of sm_90a, which no other architecture has, are used if they were compiled.
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "90a")
    set_source_files_properties(device/capability.cu PROPERTIES COMPILE_DEFINITIONS KVSWEEP_SM90A)
  endif()
endif()
