#pragma once
// Private to this room: the token by which the processes of a server are found.
#include <string>

namespace server {

inline constexpr const char* kTokenName = "KVSWEEP_SERVER";

/// A new token of this process, which counts as in use until release_token().
std::string take_token();
void release_token(const std::string& token);

}  // namespace server
