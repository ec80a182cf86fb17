#include "analysis/answer/mechanisms.hpp"

#include <algorithm>
#include <map>

#include "analysis/answer/sentences.hpp"
#include "analysis/text/export_grid.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

bool all_zero(const BySeed& values) {
  return !values.empty() &&
         std::ranges::all_of(values, [](const auto& entry) { return entry.second == 0; });
}

/// The share of the KV pool that pins hold, averaged over time and repeats.
double pinned_share(const PolicyCells& policy) {
  const double pool_tok = mean_of(by_seed(policy.repeats, "gpu_blocks")).value *
                          number_of(policy.repeats.front()->value("engine.block_size"));
  const double held_tok_s = mean_of(by_seed(policy.repeats, "gap_held_tok_s")).value;
  return held_tok_s / mean_of(by_seed(policy.repeats, "makespan_s")).value / pool_tok;
}

/// "pins no KV", "pins almost no KV (less than 2 % of the pool; its tools take longer than
/// policy.threshold_s)"; empty if pins do hold some.
std::string pins_text(const PolicyCells& policy) {
  constexpr double kAlmostNone = 0.02;
  const ConfiguredCell& cell = *policy.repeats.front();
  const std::string retention = shown(cell.value("policy.retention"));
  if (retention == "-" || retention == "free") return "";
  if (all_zero(by_seed(policy.repeats, "gap_held_tok_s"))) return "pins no KV";
  if (!(pinned_share(policy) < kAlmostNone)) return "";
  const bool is_too_long =
      number_of(cell.value("workload.gap_s")) > number_of(cell.value("policy.threshold_s"));
  return std::string("pins almost no KV (less than 2 % of the pool") +
         (is_too_long ? "; its tools take longer than policy.threshold_s)" : ")");
}

/// Whether KV was computed again. A turn may leave a last block that is not full, which no prefix
/// cache keeps.
bool loses_kv(const ConfiguredCell* cell) {
  const double partial_blocks_tok =
      cell->figure("turns") * number_of(cell->value("engine.block_size"));
  return !(cell->figure("recomputed_tok") < partial_blocks_tok && cell->figure("preemptions") == 0);
}

/// Whether KV fits in GPU memory under all policies that have no other place for it.
bool has_no_pressure(const RateRow& row) {
  bool is_known = false;
  for (const PolicyCells& policy : row.policies) {
    if (policy.dram != "-") continue;
    is_known = true;
    if (std::ranges::any_of(policy.repeats, loses_kv)) return false;
  }
  return is_known;
}

/// All figures of all repeats that do not depend on the machine.
std::string results_of(const PolicyCells& policy) {
  std::string text;
  for (const ConfiguredCell* cell : policy.repeats)
    for (const sweep::Figure& figure : cell->record->figures)
      if (!figure.is_volatile) text += exact_number(figure.value) + ' ';
  return text;
}

/// Sentences, each with the rates at which it holds.
class Remarks {
 public:
  void add(const std::string& text, const std::string& jps) {
    const auto known = std::ranges::find(remarks_, text, &std::pair<std::string, Texts>::first);
    add_once(known == remarks_.end() ? remarks_.emplace_back(text, Texts{}).second : known->second,
             jps);
  }

  Texts lines() const {
    Texts lines;
    for (const auto& [text, rates] : remarks_) {
      const std::string where = at_rates(rates);
      lines.push_back(text + (where.empty() ? "" : " " + where));
    }
    return lines;
  }

 private:
  std::vector<std::pair<std::string, Texts>> remarks_;
};

}  // namespace

std::vector<std::string> idle_mechanisms(std::span<const RateRow> rows) {
  PlaceNames names;
  for (const RateRow& row : rows) names.add(row.place);
  Remarks remarks;
  for (const RateRow& row : rows) {
    if (has_no_pressure(row))
      remarks.add(names(row.place) +
                      ": no KV is lost before it is read again, so a policy that "
                      "keeps it has nothing to gain",
                  row.jps);
    std::map<std::string, std::string> first_with;  // results -> policy
    for (const PolicyCells& each : row.policies) {
      const std::string subject = names(row.place) + ": " + each.variant;
      const std::string pins = pins_text(each);
      if (!pins.empty()) remarks.add(subject + ' ' + pins, row.jps);
      if (each.dram != "-" && all_zero(by_seed(each.repeats, "host_hit_tok")))
        remarks.add(subject + " finds nothing in host memory", row.jps);
      const auto [twin, is_new] = first_with.emplace(results_of(each), each.variant);
      if (!is_new) remarks.add(subject + " and " + twin->second + " have equal results", row.jps);
    }
  }
  return remarks.lines();
}

}  // namespace analysis
