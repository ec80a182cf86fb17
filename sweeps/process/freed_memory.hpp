#pragma once

namespace sweep {

/// Lets the C library keep what a cell frees for the next cell. By default it returns freed memory
/// at the end of the heap beyond 128 KiB, and unmaps pieces of 128 KiB or more when they are freed.
void keep_freed_memory();
/// Returns all that the C library keeps to the system.
void return_freed_memory();

}  // namespace sweep
