#pragma once
#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sweep {

/// Lets the C library keep what a cell frees for the next cell. By default it returns freed memory
/// at the end of the heap beyond 128 KiB, and unmaps pieces of 128 KiB or more when they are freed.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 16 << 20);  // larger pieces would leave gaps in memory
#endif
}

/// Returns all that the C library keeps to the system.
inline void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace sweep
