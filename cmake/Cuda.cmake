# CUDA and NCCL are optional: without them everything but the `cuda` backend is built.
#   in   KVSWEEP_CUDA       AUTO (when nvcc is there), ON (required), OFF
#   out  KVSWEEP_HAVE_CUDA  the CUDA language and CUDAToolkit targets exist;  KVSWEEP_HAVE_NCCL  NCCL::NCCL exists
set(KVSWEEP_CUDA AUTO CACHE STRING "Build the cuda backend: AUTO (when nvcc is found), ON or OFF")
set_property(CACHE KVSWEEP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(KVSWEEP_HAVE_CUDA FALSE)
set(KVSWEEP_HAVE_NCCL FALSE)

if(KVSWEEP_CUDA)   # AUTO counts as true
  if(DEFINED ENV{CUDACXX})
    set(KVSWEEP_NVCC $ENV{CUDACXX} CACHE FILEPATH "The CUDA compiler")
  endif()
  find_program(KVSWEEP_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH
               PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(KVSWEEP_NVCC)
  if(KVSWEEP_NVCC)
    set(KVSWEEP_HAVE_CUDA TRUE)
  elseif(NOT KVSWEEP_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "KVSWEEP_CUDA=${KVSWEEP_CUDA}, but there is no nvcc on PATH, in CUDA_HOME or /usr/local/cuda")
  endif()
endif()

# Machine code for A100, A10 and A40, L40S, H100 and H200, RTX PRO; for B200, GB200 and whatever comes later the PTX of 9.0, from which
# the driver compiles the portable kernels when they are first loaded. Older PTX could not launch kernels that overlap.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90a-real 90-virtual 120-real)
endif()

if(KVSWEEP_HAVE_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${KVSWEEP_NVCC})
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)   # the newest that CMake 3.25 knows for nvcc 13
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit REQUIRED)
  find_package(NCCL QUIET)
  set(KVSWEEP_HAVE_NCCL ${NCCL_FOUND})
endif()
