#pragma once
#include <functional>
#include <memory>
#include <string>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

class AdmissionRule;

/// Which programs may be served. Values that a rule does not use are ignored.
struct AdmissionConfig {
  std::string rule = "max_programs";
  int max_programs = 0;  // 0: no limit
  int pool_tokens = 0;   // that the KV pool holds
  std::function<int(engine::JobId)>
      last_context{};  // working_set, horizon hint: in tokens; 0: not told
  std::function<std::unique_ptr<AdmissionRule>()> given{};  // plugin
  Parameters parameters{};                                  // that rules declare
};

}  // namespace policies
