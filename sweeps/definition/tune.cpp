#include "sweeps/definition/tune.hpp"

#include <algorithm>

#include "sweeps/definition/messages.hpp"

namespace sweep {
namespace {

constexpr std::string_view kTune = "tune.", kRange = "tune.range.", kChoice = "tune.choice.",
                           kHeldOutSet = "tune.held_out_set.";
constexpr std::int64_t kMostCandidates = 10'000, kMostSeeds = 10'000;

void require_policy_key(const std::string& key, const Location& where) {
  if (key.starts_with("policy.")) return;
  fail_at(where, "[tune] varies keys of the policy (policy.ttl_s, ...), found " + in_quotes(key));
}

TuneKey range_of(const std::string& key, const std::vector<Param>& ends) {
  const Location& where = ends.front().where;
  require_policy_key(key, where);
  if (ends.size() != 2)
    fail_at(where, "the range of " + key + " must be its least and its most, found " +
                       std::to_string(ends.size()) + " values");
  const std::string end = "each end of the range of " + key;
  TuneKey range{key, {}, as_number(end, ends[0]), as_number(end, ends[1])};
  if (!(range.least < range.most))
    fail_at(where, "the range of " + key + " must begin with its least value");
  range.is_integer = std::holds_alternative<std::int64_t>(ends[0].value) &&
                     std::holds_alternative<std::int64_t>(ends[1].value);
  return range;
}

TuneKey choice_of(const std::string& key, const std::vector<Param>& values) {
  require_policy_key(key, values.front().where);
  TuneKey choice{key, {}};
  for (const Param& each : values) choice.choices.push_back(each.value);
  return choice;
}

}  // namespace

TuneSpec tune_of(const std::map<std::string, std::vector<Param>>& leaves,
                 const std::string& document) {
  TuneSpec tune;
  ParamMap scalars;
  for (const auto& [key, values] : leaves) {
    if (values.empty()) throw SpecError(document + ": " + key + " must not be empty");
    tune.where = values.front().where;
    const std::size_t end = key.find('.', kTune.size()) + 1;  // 0: the key is in no further table
    const std::string table = key.substr(0, end), name = key.substr(end);
    if (table == kRange)
      tune.keys.push_back(range_of(name, values));
    else if (table == kChoice)
      tune.keys.push_back(choice_of(name, values));
    else if (table == kHeldOutSet)
      tune.held_out_set[name] = values.front();
    else
      scalars[key] = values.front();
  }
  for (const TuneKey& each : tune.keys)
    if (std::ranges::count(tune.keys, each.key, &TuneKey::key) > 1)
      fail_at(tune.where, each.key + " has both a range and choices");
  ParamReader reader(scalars, document);
  tune.policy = reader.text("tune.policy");
  tune.metric = reader.text("tune.metric", tune.metric);
  tune.candidates = static_cast<int>(reader.integer("tune.candidates", 1, kMostCandidates));
  tune.seed = reader.integer("tune.seed", 1, 0, std::int64_t{1} << 53);
  tune.train = static_cast<int>(reader.integer("tune.train", 10, 3, kMostSeeds));
  tune.held_out = static_cast<int>(reader.integer("tune.held_out", 20, 3, kMostSeeds));
  reader.reject_unknown();
  if (tune.keys.empty())
    throw SpecError(document +
                    ": [tune] needs a key to vary: [tune.range] \"policy.ttl_s\" = "
                    "[0.5, 60.0], or [tune.choice]");
  return tune;
}

}  // namespace sweep
