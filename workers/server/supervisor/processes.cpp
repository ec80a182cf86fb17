#include "workers/server/supervisor/processes.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace server {

namespace fs = std::filesystem;

std::vector<pid_t> process_ids() {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr == end) ids.push_back(pid);
  }
  return ids;
}

std::string stat_field(pid_t pid, int number) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat", std::ios::binary);
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < number; ++i) fields >> field;
  return field;
}

}  // namespace server
