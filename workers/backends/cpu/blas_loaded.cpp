#include <dlfcn.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "workers/backends/cpu/blas.hpp"

namespace backends {
namespace {

/// The one that was there when this program was compiled, or the one that the system finds.
void* load() {
  for (const char* path :
       {KVSWEEP_OPENBLAS_FOLDER "/" KVSWEEP_OPENBLAS_NAME, KVSWEEP_OPENBLAS_NAME})
    if (void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return handle;
  throw std::runtime_error(std::string("the backend cpu needs OpenBLAS, which cannot be loaded: ") +
                           dlerror());
}

template <class Function>
Function* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr)
    throw std::runtime_error("the OpenBLAS that is loaded has no " + std::string(name));
  return reinterpret_cast<Function*>(found);
}

/// Throws unless there is this much memory. OpenBLAS would ask for it for ever.
void require_memory(std::size_t bytes) {
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (page == MAP_FAILED)
    throw std::runtime_error("the backend cpu needs " + std::to_string(bytes >> 20) +
                             " MiB more for OpenBLAS, which the system refuses (see ulimit -v)");
  munmap(page, bytes);
}

/// Makes it take its memory: a product that is large enough to need it.
void multiply_once(const Blas& blas) {
  constexpr int kSize = 256;
  const std::vector<float> ones(kSize * kSize, 1.f);
  std::vector<float> out(ones.size());
  blas.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSize, kSize, kSize, 1, ones.data(), kSize,
             ones.data(), kSize, 0, out.data(), kSize);
}

Blas loaded() {
  constexpr std::size_t kMost = std::size_t{192} << 20;  // its code and buffers for one thread
  require_memory(kMost);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);  // which it reads as it starts
  void* library = load();
  symbol<decltype(openblas_set_num_threads)>(library, "openblas_set_num_threads")(1);
  const Blas blas{symbol<decltype(cblas_sgemm)>(library, "cblas_sgemm"),
                  symbol<decltype(openblas_get_config)>(library, "openblas_get_config")};
  multiply_once(blas);
  return blas;
}

}  // namespace

const Blas& blas() {
  static const Blas kBlas = loaded();
  return kBlas;
}

}  // namespace backends
