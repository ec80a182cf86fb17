#include "sweeps/process/freed_memory.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sweep {

#ifdef __GLIBC__
void keep_freed_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 16 << 20);  // larger pieces would leave gaps in memory
}
void return_freed_memory() { ::malloc_trim(0); }
#else
void keep_freed_memory() {}
void return_freed_memory() {}
#endif

}  // namespace sweep
