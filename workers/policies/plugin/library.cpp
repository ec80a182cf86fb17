#include "workers/policies/plugin/library.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "workers/engine/base/errors.hpp"

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

const kvsweep_policy* table_in(void* handle, const std::string& path) {
  void* symbol = dlsym(handle, kSymbol);
  if (symbol == nullptr)
    throw InputError("has no function " + std::string(kSymbol) + "() (" + path + ')');
  const kvsweep_policy* table = reinterpret_cast<decltype(&kvsweep_policy_table)>(symbol)();
  if (table == nullptr) throw InputError(std::string(kSymbol) + "() gives no table (" + path + ')');
  return table;
}

}  // namespace

PluginLibrary::PluginLibrary(const std::string& path)
    : path_(path), handle_(load(path)), table_(table_in(handle_.get(), path)) {
  if (table_->version != KVSWEEP_POLICY_VERSION)
    throw InputError("has version " + std::to_string(table_->version) +
                     " of kvsweep_policy.h, this program needs version " +
                     std::to_string(KVSWEEP_POLICY_VERSION) + " (" + path + ')');
  if (table_->order != nullptr && table_->order->rank == nullptr)
    throw InputError("has an order without the function rank (" + path + ')');
  if (table_->eviction != nullptr && table_->eviction->rank == nullptr)
    throw InputError("has an eviction without the function rank (" + path + ')');
}

const kvsweep_order& PluginLibrary::order() const {
  if (table_->order == nullptr) throw InputError("offers no order (" + path_ + ')');
  return *table_->order;
}

const kvsweep_eviction& PluginLibrary::eviction() const {
  if (table_->eviction == nullptr) throw InputError("offers no eviction (" + path_ + ')');
  return *table_->eviction;
}

void PluginLibrary::Close::operator()(void* handle) const noexcept { dlclose(handle); }

}  // namespace policies
