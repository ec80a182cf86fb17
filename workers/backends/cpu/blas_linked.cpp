#include "workers/backends/cpu/blas.hpp"

namespace backends {

const Blas& blas() {
  static const Blas kBlas = [] {
    openblas_set_num_threads(1);
    return Blas{cblas_sgemm, openblas_get_config};
  }();
  return kBlas;
}

}  // namespace backends
