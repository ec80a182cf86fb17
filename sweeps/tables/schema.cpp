#include "sweeps/tables/schema.hpp"

namespace sweep {

std::span<const std::string_view> enum_names(SchedKind) {
  static constexpr std::string_view kNames[] = {"new", "resumed", "running", "preempted"};
  return kNames;
}

// With these names h5py reads numpy booleans.
std::span<const std::string_view> enum_names(bool) {
  static constexpr std::string_view kNames[] = {"FALSE", "TRUE"};
  return kNames;
}

}  // namespace sweep
