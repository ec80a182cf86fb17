# The CUDA kernels and their launchers: device/*.hpp, one .cu per operation.
if(KVSWEEP_HAVE_CUDA)
  kvsweep_library(kernels_cuda SOURCES
    activation.cu append_kv.cu append_kv_logged.cu argmax.cu blocks.cu capability.cu decode_attention.cu decode_attention_logged.cu decode_plan.cu embed.cu few_rows.cu few_rows_wgmma.cu fill.cu gather.cu host_rows.cu
    norm.cu prefill_attention.cu prefill_attention_logged.cu prefill_attention_wgmma.cu prefill_attention_wgmma_logged.cu read_clock.cu read_memory.cu
    PUBLIC kernel_layout CUDA::cudart_static)
  target_compile_options(kernels_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo -Xcompiler=-Wall,-Wextra $<$<BOOL:${KVSWEEP_WERROR}>:-Werror=all-warnings>>)
  # Instructions of sm_90a, which no other architecture has, are used where they were compiled.
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "90a")
    set_source_files_properties(capability.cu PROPERTIES COMPILE_DEFINITIONS KVSWEEP_SM90A)
  endif()
endif()
