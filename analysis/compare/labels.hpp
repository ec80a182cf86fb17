#pragma once
#include <string>

#include "sweeps/definition/selection.hpp"

namespace analysis {

/// What cells have that tables print as this policy: "cpu_offload-128G", "fcfs+eviction=plugin",
/// "continuum (ttl_s=5.0, order=fcfs)", or several of these in one. Empty for another key or a
/// plain name. The inverse of variant_of() and of what stands behind it where policies share a
/// name.
sweep::Alternative read_label(const std::string& key, const std::string& text);

}  // namespace analysis
