#pragma once

namespace sweep {

/// Lets the C library keep what a cell frees for the next one, which needs as much. From 128 KiB on
/// it would return it, and large pieces in any case, until some have been freed.
void keep_freed_memory();
/// Returns all that the C library keeps to the system.
void return_freed_memory();

}  // namespace sweep
