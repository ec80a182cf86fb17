#include "sweeps/tables/shared.hpp"

#include <functional>
#include <mutex>
#include <set>

namespace sweep {

SharedName::SharedName(std::string_view name) {
  static std::mutex mutex;
  // Never destroyed: objects that are destroyed after it may have names.
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto known = names.find(name);
  text_ = known != names.end() ? &*known : &*names.emplace(name).first;
}

}  // namespace sweep
