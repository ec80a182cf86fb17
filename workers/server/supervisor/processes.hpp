#pragma once
// Private to this room: what the system lists of processes, and the token by which those of a
// server are found.
#include <sys/types.h>

#include <string>
#include <vector>

namespace server {

/// The ids of the processes that there are now.
std::vector<pid_t> process_ids();

/// A field of /proc/PID/stat, counted from 1 behind the name, which may hold anything: 1 is the
/// state, 2 the parent, 20 the start in clock ticks. Empty: there is no such process.
std::string stat_field(pid_t pid, int number);

inline constexpr const char* kTokenName = "KVSWEEP_SERVER";

/// A new token of this process, which counts as in use until release_token().
std::string take_token();
void release_token(const std::string& token);

}  // namespace server
