#include "analysis/ranking/mechanisms.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/ranking/place_names.hpp"
#include "analysis/ranking/sentences.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

bool all_zero(const BySeed& values) {
  return !values.empty() &&
         std::ranges::all_of(values, [](const auto& entry) { return entry.second == 0; });
}

/// A turn may leave a last block that is not full, which no prefix cache keeps: at most this much.
double partial_blocks_tok(const ConfiguredCell* cell) {
  return cell->figure("turns") * number_of(cell->value("engine.block_size"));
}

/// Whether KV was computed again.
bool loses_kv(const ConfiguredCell* cell) {
  return !(cell->figure("recomputed_tok") < partial_blocks_tok(cell) &&
           cell->figure("preemptions") == 0);
}

/// Whether host memory had what the GPU had lost: other jobs' KV, too, which is not computed again.
bool finds_on_host(const ConfiguredCell* cell) {
  return cell->figure("host_hit_tok") >= partial_blocks_tok(cell);
}

/// Whether KV fits in GPU memory under all policies that have no other place for it, and those that
/// have one find nothing there.
bool has_no_pressure(const RateRow& row) {
  bool is_known = false;
  for (const PolicyCells& policy : row.policies) {
    const bool has_tier = policy.dram != "-";
    if (std::ranges::any_of(policy.repeats, has_tier ? finds_on_host : loses_kv)) return false;
    is_known |= !has_tier;
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

/// The latencies of all repeats: equal where two policies make the same steps, though one of them
/// also copies KV. Empty if they were not observed.
std::string latencies_of(const PolicyCells& policy) {
  std::string text;
  for (const ConfiguredCell* cell : policy.repeats)
    for (const sweep::Figure& figure : cell->record->figures)
      for (const char* latency : {"ttft_", "tpot_", "queue_", "jct_"})
        if (figure.name.text().starts_with(latency)) text += exact_number(figure.value) + ' ';
  return text.find_first_not_of(' ') == std::string::npos ? "" : text;
}

/// The policies of which a text is the same, by that text.
using Groups = std::map<std::string, Texts>;

void add_groups(Texts& lines, const Groups& groups, const std::string& says) {
  for (const auto& [text, policies] : groups)
    if (policies.size() > 1) lines.push_back(listed(policies) + says);
}

/// "continuum, fcfs and pin serve every job alike": policies with equal results, and those that
/// differ, but in no latency.
Texts twins_of(const RateRow& row) {
  Groups with_results, with_latencies;
  for (const PolicyCells& each : row.policies)
    with_results[results_of(each)].push_back(each.variant);
  for (const PolicyCells& each : row.policies) {
    const std::string latencies = latencies_of(each);
    if (!latencies.empty()) with_latencies[latencies].push_back(each.variant);
  }
  const auto are_twins = [&](const auto& group) {
    return std::ranges::any_of(with_results,
                               [&](const auto& other) { return other.second == group.second; });
  };
  std::erase_if(with_latencies, are_twins);
  Texts lines;
  for (Groups* groups : {&with_results, &with_latencies})
    for (auto& [text, policies] : *groups) std::ranges::sort(policies);
  add_groups(lines, with_results, " have equal results");
  add_groups(lines, with_latencies, " serve every job alike");
  return lines;
}

/// What is said of policies at rates: "nothing is found in host memory under cpu_offload-16G".
class Remarks {
 public:
  /// `after` may be empty, as may the policy of a remark about all of them.
  void add(const std::string& before, const std::string& policy, const std::string& after,
           const std::string& jps) {
    for (Remark& known : remarks_)
      if (known.before == before && known.after == after && known.policies == Texts{policy})
        return add_once(known.rates, jps);
    remarks_.push_back({before, after, {policy}, {jps}});
  }

  /// A line for all policies of which the same is said at the same rates.
  Texts lines() const {
    std::vector<Remark> merged;
    for (const Remark& each : remarks_) {
      const auto same = std::ranges::find_if(merged, [&](const Remark& other) {
        return other.before == each.before && other.after == each.after &&
               other.rates == each.rates;
      });
      if (same == merged.end()) {
        merged.push_back(each);
      } else {
        add_once(same->policies, each.policies.front());
      }
    }
    Texts lines;
    for (const Remark& each : merged) {
      const std::string where = at_rates(each.rates);
      lines.push_back(each.before + listed(each.policies) + each.after +
                      (where.empty() ? "" : " " + where));
    }
    return lines;
  }

 private:
  struct Remark {
    std::string before, after;
    Texts policies, rates;
  };
  std::vector<Remark> remarks_;
};

}  // namespace

double pinned_share_of(std::span<const ConfiguredCell* const> repeats) {
  const double pool_tok = mean_of(by_seed(repeats, "gpu_blocks")).value *
                          number_of(repeats.front()->value("engine.block_size"));
  const double held_tok_s = mean_of(by_seed(repeats, "gap_held_tok_s")).value;
  return held_tok_s / mean_of(by_seed(repeats, "makespan_s")).value / pool_tok;
}

std::string idle_pins(const PolicyCells& policy) {
  constexpr double kAlmostNone = 0.02;
  const ConfiguredCell& cell = *policy.repeats.front();
  const std::string retention = shown(cell.value("policy.retention"));
  if (retention == "-" || retention == "free") return "";
  if (all_zero(by_seed(policy.repeats, "gap_held_tok_s"))) return "pins no KV";
  if (!(pinned_share_of(policy.repeats) < kAlmostNone)) return "";
  const auto gap = cell.value("workload.gap_s"), limit = cell.value("policy.threshold_s");
  if (!(number_of(gap) > number_of(limit))) return "pins almost no KV (less than 2 % of the pool)";
  return "pins almost no KV (less than 2 % of the pool; tools of " + shown(gap) +
         " s exceed its policy.threshold_s of " + shown(limit) + " s)";
}

std::vector<std::string> idle_mechanisms(std::span<const RateRow> rows) {
  const PlaceNames names = place_names(rows);
  Remarks remarks;
  for (const RateRow& row : rows) {
    const std::string place = names(row.place) + ": ";
    if (row.policies.size() > 1 && has_no_pressure(row))
      remarks.add(place +
                      "no KV is lost before it is read again, so a policy that keeps it has "
                      "nothing to gain",
                  "", "", row.jps);
    for (const PolicyCells& each : row.policies) {
      const std::string pins = idle_pins(each);
      if (!pins.empty()) remarks.add(place, each.variant, ' ' + pins, row.jps);
      if (each.dram != "-" && all_zero(by_seed(each.repeats, "host_hit_tok")))
        remarks.add(place + "nothing is found in host memory under ", each.variant, "", row.jps);
    }
    for (const std::string& twins : twins_of(row)) remarks.add(place + twins, "", "", row.jps);
  }
  return remarks.lines();
}

}  // namespace analysis
