// Makes one system call of a program fail, below every library: preloaded, see faults.py.
//
//   KVSWEEP_FAULT=CALL:N:ERRNO:PATH[:on]   the N-th call, counted from 1 over calls whose file's
//   path contains PATH, fails
//                                          with ERRNO; with ":on" all from the N-th on do. N = 0
//                                          fails none. With the ERRNO 0 the process is killed there
//                                          instead (SIGKILL).
//   KVSWEEP_FAULT_COUNT=FILE               eight bytes that all processes of a run count calls in
//
// CALL is write, short (a write of half the bytes, after which the program has to go on), read,
// sync, rename, link, unlink, mkdir, truncate, close, open or copy.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Fault {
  std::string call, path;
  long nth = 0;
  int error = EIO;
  bool should_retry = false;
  std::atomic<long>* count = nullptr;
};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::atomic<long>* shared_count() {
  static std::atomic<long> own{0};
  const char* path = std::getenv("KVSWEEP_FAULT_COUNT");
  if (path == nullptr) return &own;
  const int file = real<int(const char*, int, ...)>("open")(path, O_RDWR | O_CREAT, 0666);
  if (file < 0 || real<int(int, off_t)>("ftruncate")(file, sizeof(long)) != 0) std::abort();
  void* page = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  real<int(int)>("close")(file);
  return page == MAP_FAILED ? &own : static_cast<std::atomic<long>*>(page);
}

Fault read_fault() {
  Fault fault;
  const char* text = std::getenv("KVSWEEP_FAULT");
  if (text == nullptr) return fault;
  std::string rest = text;
  const auto word = [&rest] {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string front = rest.substr(0, end);
    rest.erase(0, end + 1);
    return front;
  };
  fault.call = word();
  fault.nth = std::atol(word().c_str());
  fault.error = std::atoi(word().c_str());
  fault.path = word();
  fault.should_retry = word() == "on";
  fault.count = shared_count();
  return fault;
}

/// Never destroyed: calls come from destructors of the program, too.
const Fault& fault() {
  static const Fault* const kFault = new Fault(read_fault());
  return *kFault;
}

bool strikes(const char* call, const char* path) {
  const int before = errno;
  const Fault& planned = fault();
  bool hit = false;
  if (planned.call == call && std::strstr(path, planned.path.c_str()) != nullptr) {
    const long now = ++*planned.count;
    hit = planned.nth > 0 && (planned.should_retry ? now >= planned.nth : now == planned.nth);
  }
  if (hit && planned.error == 0) kill(getpid(), SIGKILL);
  errno = hit ? planned.error : before;
  return hit;
}

bool strikes(const char* call, int file) {
  if (fault().call != call) return false;
  char link[64], path[PATH_MAX + 1];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return false;
  path[length] = '\0';
  return strikes(call, path);
}

}  // namespace

// The names of the C library, and only these: what the program calls comes here first.
#define REAL(name) static auto* const call = real<decltype(name)>(#name)

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  REAL(write);
  if (strikes("write", file)) return -1;
  return call(file, bytes, size > 1 && strikes("short", file) ? size / 2 : size);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  REAL(pwrite);
  if (strikes("write", file)) return -1;
  return call(file, bytes, size > 1 && strikes("short", file) ? size / 2 : size, at);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  if (strikes("write", file)) return -1;
  return call(file, bytes, size > 1 && strikes("short", file) ? size / 2 : size, at);
}
ssize_t read(int file, void* bytes, size_t size) {
  REAL(read);
  return strikes("read", file) ? -1 : call(file, bytes, size);
}
ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  REAL(pread);
  return strikes("read", file) ? -1 : call(file, bytes, size, at);
}
ssize_t pread64(int file, void* bytes, size_t size, off64_t at) {
  REAL(pread64);
  return strikes("read", file) ? -1 : call(file, bytes, size, at);
}
ssize_t sendfile(int to, int from, off_t* at, size_t size) {
  REAL(sendfile);
  return strikes("copy", to) ? -1 : call(to, from, at, size);
}
ssize_t sendfile64(int to, int from, off64_t* at, size_t size) {
  REAL(sendfile64);
  return strikes("copy", to) ? -1 : call(to, from, at, size);
}
int fsync(int file) {
  REAL(fsync);
  return strikes("sync", file) ? -1 : call(file);
}
int ftruncate(int file, off_t size) noexcept {
  REAL(ftruncate);
  return strikes("truncate", file) ? -1 : call(file, size);
}
int ftruncate64(int file, off64_t size) noexcept {
  REAL(ftruncate64);
  return strikes("truncate", file) ? -1 : call(file, size);
}
int close(int file) {
  REAL(close);
  if (!strikes("close", file)) return call(file);
  const int error = errno;
  call(file);  // Linux frees the descriptor all the same
  errno = error;
  return -1;
}
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return strikes("rename", to) ? -1 : call(from, to);
}
int link(const char* from, const char* to) noexcept {
  REAL(link);
  return strikes("link", to) ? -1 : call(from, to);
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return strikes("unlink", path) ? -1 : call(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return strikes("mkdir", path) ? -1 : call(path, mode);
}

int open(const char* path, int flags, ...) {
  REAL(open);
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return strikes("open", path) ? -1 : call(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  REAL(open64);
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return strikes("open", path) ? -1 : call(path, flags, mode);
}

}  // extern "C"
