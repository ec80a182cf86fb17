#pragma once
// Private to this room: the functions of OpenBLAS that are used.
#include <cblas.h>

namespace backends {

struct Blas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&openblas_get_config) config;
};

/// With one thread in this process. OpenBLAS is loaded at the first call, since as it starts it
/// takes memory for every core, which a limit (`ulimit -v`) may not allow. Throws
/// std::runtime_error, which says why, when it cannot be loaded.
const Blas& blas();

}  // namespace backends
