#include <cuda_runtime.h>

#include "workers/engine/base/ids.hpp"  // kernels know nothing of ours
