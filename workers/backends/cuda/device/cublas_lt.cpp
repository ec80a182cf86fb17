#include "workers/backends/cuda/device/cublas_lt.hpp"

#include <dlfcn.h>

#include <string>

#include "workers/backends/cuda/device/handles.hpp"

namespace backends::cuda {
namespace {

void* open_library() {
  const std::string installed = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  if (void* const library = dlopen(installed.c_str(), RTLD_NOW)) return library;
  if (void* const library = dlopen(KVSWEEP_CUBLAS_LT_PATH, RTLD_NOW)) return library;
  throw DeviceError(std::string("cublasLt cannot be loaded: ") + dlerror());
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw DeviceError(std::string("cublasLt lacks ") + name);
}

CublasLtFunctions load() {
  void* const library = open_library();
  CublasLtFunctions found{};
#define KVSWEEP_FIND(name) find(library, "cublasLt" #name, found.name);
  KVSWEEP_CUBLAS_LT(KVSWEEP_FIND)
#undef KVSWEEP_FIND
  return found;
}

}  // namespace

const CublasLtFunctions& cublas_lt() {
  static const CublasLtFunctions functions = load();
  return functions;
}

CublasLt::CublasLt() { check(cublas_lt().Create(&raw_), "creating a cublasLt handle"); }
CublasLt::~CublasLt() { cublas_lt().Destroy(raw_); }

}  // namespace backends::cuda
