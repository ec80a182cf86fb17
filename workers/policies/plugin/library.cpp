#include "workers/policies/plugin/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/process/child_process.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/plugin/python.hpp"

namespace policies {
namespace {

using engine::InputError;

constexpr const char* kSymbol = "kvsweep_policy_table";

std::string loader_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

/// A path without a slash would be looked for in the system's folders.
void* load(const std::string& path) {
  void* handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw InputError("cannot be loaded: " + loader_error());
  return handle;
}

/// A table that is shorter than this program's lacks the functions at its end.
kvsweep_policy table_in(void* handle, const std::string& path) {
  void* symbol = dlsym(handle, kSymbol);
  if (symbol == nullptr)
    throw InputError("has no function " + std::string(kSymbol) + "() (" + path + ')');
  const kvsweep_policy* given = reinterpret_cast<decltype(&kvsweep_policy_table)>(symbol)();
  if (given == nullptr) throw InputError(std::string(kSymbol) + "() gives no table (" + path + ')');
  if (given->version != KVSWEEP_POLICY_VERSION)
    throw InputError("has version " + std::to_string(given->version) +
                     " of kvsweep_policy.h, this program needs version " +
                     std::to_string(KVSWEEP_POLICY_VERSION) + " (" + path + ')');
  if (given->size < offsetof(kvsweep_policy, create))
    throw InputError("has a table of " + std::to_string(given->size) +
                     " bytes: `size` must be sizeof(kvsweep_policy) (" + path + ')');
  kvsweep_policy table{};
  std::memcpy(&table, given, std::min<std::size_t>(given->size, sizeof table));
  return table;
}

/// Loads the file in a child process, and unloads it. Throws InputError for what happens there.
void try_out(const std::string& path, engine::Nanos most_loading) {
  constexpr const char* kLoaded = "loaded";
  const auto try_loading = [&]() -> std::string {
    ::dup2(sweep::Descriptor("/dev/null", O_WRONLY).get(),
           STDOUT_FILENO);  // it may print something
    void* const handle = load(path);
    static_cast<void>(table_in(handle, path));
    dlclose(handle);
    return kLoaded;
  };
  const auto [text, end] = sweep::report_of_child(
      try_loading, std::chrono::ceil<std::chrono::milliseconds>(most_loading));
  if (end.signal == SIGKILL) throw InputError(not_loaded_within(most_loading) + " (" + path + ')');
  if (end.signal != 0)
    throw InputError("ends its process by signal " + std::to_string(end.signal) + " (" +
                     ::strsignal(end.signal) + ") while it is loaded (" + path + ')');
  if (end.exit_code == 1 && !text.empty()) throw InputError(text);
  if (text != kLoaded)
    throw InputError("ends its process with exit code " + std::to_string(end.exit_code) +
                     " while it is loaded (" + path + ')');
}

/// Tries each file once.
void try_out_once(const std::string& path, engine::Nanos most_loading) {
  static std::mutex mutex;
  static std::map<std::string, sweep::FileIdentity> tried;
  const std::scoped_lock lock(mutex);
  const sweep::FileIdentity file = sweep::identity_of(path);
  if (const auto found = tried.find(path); found != tried.end() && found->second == file) return;
  try_out(path, most_loading);
  tried[path] = file;
}

/// The name of the function that the axis needs and the table lacks; null if it has all.
const char* missing(const kvsweep_policy& table, const std::string& axis) {
  const struct {
    const char* axis;
    const char* function;
    bool has;
  } needs[] = {{"order", "rank_turn", table.rank_turn != nullptr},
               {"admission", "admit", table.admit != nullptr},
               {"retention", "retain", table.retain != nullptr},
               {"eviction", "rank_block", table.rank_block != nullptr}};
  for (const auto& need : needs)
    if (axis == need.axis && !need.has) return need.function;
  return nullptr;
}

}  // namespace

PluginLibrary::PluginLibrary(const std::string& path, engine::Nanos most_loading) : path_(path) {
  if (path.ends_with(".py")) {
    python_ = std::make_unique<PythonPolicy>(path, most_loading);
    table_ = python_->table();
  } else {
    try_out_once(path, most_loading);
    handle_.reset(load(path));
    table_ = table_in(handle_.get(), path);
  }
}

PluginLibrary::~PluginLibrary() = default;

void* PluginLibrary::create(const kvsweep_setup& setup) {
  if (python_) {
    python_->create(setup);
    return python_.get();
  }
  return table_.create != nullptr ? table_.create(&setup) : nullptr;
}

void PluginLibrary::destroy(void* state) {
  if (table_.destroy != nullptr) table_.destroy(state);
}

bool PluginLibrary::offers(const std::string& axis) const {
  return missing(table_, axis) == nullptr;
}

void PluginLibrary::require(const std::string& axis) const {
  if (const char* function = missing(table_, axis))
    throw InputError("offers no " + axis + ": it lacks the function " + function + " (" + path_ +
                     ')');
}

std::string PluginLibrary::imported() const { return python_ ? python_->imported() : ""; }

void PluginLibrary::Close::operator()(void* handle) const noexcept { dlclose(handle); }

}  // namespace policies
