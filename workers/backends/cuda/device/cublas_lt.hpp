#pragma once
#include <cublasLt.h>

namespace backends::cuda {

// The functions of cublasLt that are used.
#define KVSWEEP_CUBLAS_LT(FUNCTION) \
  FUNCTION(Create)                  \
  FUNCTION(Destroy)                 \
  FUNCTION(GetStatusName)           \
  FUNCTION(GetVersion)              \
  FUNCTION(MatrixLayoutCreate)      \
  FUNCTION(MatrixLayoutDestroy)     \
  FUNCTION(Matmul)                  \
  FUNCTION(MatmulAlgoCheck)         \
  FUNCTION(MatmulAlgoGetHeuristic)  \
  FUNCTION(MatmulDescCreate)        \
  FUNCTION(MatmulDescDestroy)       \
  FUNCTION(MatmulDescSetAttribute)  \
  FUNCTION(MatmulPreferenceCreate)  \
  FUNCTION(MatmulPreferenceDestroy) \
  FUNCTION(MatmulPreferenceSetAttribute)

/// They have their names without "cublasLt" here.
struct CublasLtFunctions {
#define KVSWEEP_DECLARE(name) decltype(&::cublasLt##name) name;
  KVSWEEP_CUBLAS_LT(KVSWEEP_DECLARE)
#undef KVSWEEP_DECLARE
};

/// Loads the library at the first call, and not when the program starts: that would take every
/// start 80 ms, whether the run uses a GPU or not. Throws DeviceError without the library.
const CublasLtFunctions& cublas_lt();

class CublasLt {
 public:
  CublasLt();
  CublasLt(CublasLt&&) = delete;
  ~CublasLt();
  cublasLtHandle_t get() const { return raw_; }

 private:
  cublasLtHandle_t raw_ = nullptr;
};

}  // namespace backends::cuda
