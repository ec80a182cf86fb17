#include <cuda_runtime.h>

#include "workers/engine/ids.hpp"  // kernels know nothing of ours
