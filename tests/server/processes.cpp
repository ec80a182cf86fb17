#include "tests/server/processes.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace support {
namespace {

bool ends(pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd end{fd, POLLIN, 0};
  const bool ended = ::poll(&end, 1, 30'000) == 1;
  ::close(fd);
  return ended;
}

}  // namespace

bool all_end(const std::vector<pid_t>& pids) { return std::ranges::all_of(pids, ends); }

}  // namespace support
