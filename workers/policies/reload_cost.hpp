#pragma once
#include <functional>

#include "workers/policies/config.hpp"

namespace policies {

/// Fits the seconds of a prefill of n tokens, measured or modelled, as fixed + linear n + quadratic
/// n^2: least squares over 1024, 2048, 4096, 8192 and 16384 tokens.
ReloadCost fit_reload_cost(const std::function<double(int tokens)>& prefill_s);

}  // namespace policies
