#pragma once
#include <cstddef>
#include <functional>

namespace sweep {

/// Calls work(0) to work(count - 1) on this thread and up to `threads` - 1 others. Returns when all
/// calls have ended; throws what one of them threw, and then may have left out some.
void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace sweep
