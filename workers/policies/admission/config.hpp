#pragma once
#include <functional>
#include <memory>
#include <string>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/admission/rule.hpp"
#include "workers/policies/estimators/axis.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// Which programs may be served. Values that a rule does not use are ignored.
struct AdmissionConfig {
  std::string rule = "max_programs";
  int max_programs = 0;  // 0: no limit
  int pool_tokens = 0;   // that the KV pool holds
  std::function<int(engine::JobId)>
      last_context{};  // working_set, horizon hint: in tokens; 0: not told
  std::function<std::unique_ptr<AdmissionRule>()> given{};  // plugin
  Parameters parameters{};                                  // that rules declare
  /// Whether any program is held back.
  bool limits() const { return rule != "max_programs" || max_programs > 0; }
};

using AdmissionEntry = Entry<AdmissionRule, AdmissionConfig>;
const Axis<AdmissionRule, AdmissionConfig>& admissions();

/// The rule of the config. Throws engine::InputError as Axis::make() does.
std::unique_ptr<AdmissionRule> make_admission_rule(const AdmissionConfig& config);

/// Holds back turns of programs that the rule does not admit: they wait in an order of the same
/// kind, invisible to the scheduler. Turns of subagents, which the program's root may wait for, are
/// never held back. Where `block_size` is not 0, what contexts have in common in blocks of that
/// many tokens counts once.
std::unique_ptr<engine::QueueOrder> holding_back(std::unique_ptr<AdmissionRule> rule,
                                                 std::unique_ptr<engine::QueueOrder> served,
                                                 std::unique_ptr<engine::QueueOrder> held,
                                                 int block_size);

/// The parameter of rules that count contexts: whether a program's tokens are only those that it
/// adds to the programs before it.
inline constexpr const char* kSharedPrefixWords[] = {"each", "once"};
inline constexpr Parameter kSharedPrefixes = {
    .name = "shared_prefixes",
    .words = kSharedPrefixWords,
    .is_neutral = true,
    .says =
        "Whether a prefix that contexts share counts for each program, or once for all of them."};
inline bool counts_once(const Parameters& given) {
  return word_of(kSharedPrefixes, given) == "once";
}

}  // namespace policies
