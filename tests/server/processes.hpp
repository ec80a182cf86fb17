#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace support {

/// The content of a file; of a FIFO, what is written until its writers have closed it.
std::string text_of(const std::string& path);
/// Waits for the ends of processes that may be of others, for up to 30 s each; whether they came.
bool all_end(const std::vector<pid_t>& pids);

}  // namespace support
