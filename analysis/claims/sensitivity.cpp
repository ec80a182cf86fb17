#include "analysis/claims/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

constexpr const char* kFixed = "sim.fixed_scale";
constexpr const char* kToken = "sim.token_scale";
constexpr const char* kTier = "sim.tier_scale";

bool has_tier(const ConfiguredCell& cell) { return cell.config.contains("policy.host_memory"); }

double factor(const Factors& factors, const char* key) {
  const auto found = factors.find(key);
  return found == factors.end() ? 1 : found->second;
}

double factor(const ConfiguredCell& cell, const char* key) {
  const double own = number_of(cell.value(key));
  return std::isnan(own) ? 1 : own;
}

bool is_decided(Verdict verdict) {
  return verdict == Verdict::reproduced || verdict == Verdict::not_reproduced;
}

bool is_simulated(const ClaimRow& row) { return row.kind.starts_with("MODELLED"); }

/// Whether the row says something with these constants: enough repeats for a verdict.
bool has_answer(const ClaimRow& row) {
  return row.verdict == Verdict::assumed || row.ours.repeats >= row.claim->repeats;
}

/// The same point, kind and card, judged with other constants; null if it has no cells.
const ClaimRow* same_row(const ClaimRow& row, std::span<const ClaimRow> rows) {
  const auto found = std::ranges::find_if(rows, [&](const ClaimRow& each) {
    return each.point == row.point && each.kind == row.kind && each.card == row.card;
  });
  return found == rows.end() || !has_answer(*found) ? nullptr : &*found;
}

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

/// "--set sim.fixed_scale=0.94 --set sim.token_scale=0.94".
std::string set_options(const Factors& factors) {
  std::string text;
  for (const auto& [key, value] : factors) text += " --set " + key + '=' + number_text(value);
  return text;
}

/// "token_scale-1.06".
std::string file_part(const Factors& factors) {
  std::string text;
  for (const auto& [key, value] : factors)
    text += '-' + key.substr(key.find('.') + 1) + '-' + number_text(value);
  return text;
}

/// Judges the rows of a report with each variation in turn.
class Band {
 public:
  Band(std::span<const Claim> claims, std::span<const ConfiguredCell> cells,
       const LoadTable& load) {
    for (const Factors& factors : sensitivity_band())
      judged_.push_back(judge_claims(claims, cells, load, factors));
  }

  void judge(ClaimRow& row) {
    if (!is_simulated(row) || !is_decided(row.verdict)) return;
    ++decided_;
    bool is_complete = true;
    std::string turns;
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      const ClaimRow* other = same_row(row, judged_[i]);
      if (other == nullptr) {
        is_complete = false;
        note_missing(row, i);
        continue;
      }
      if (other->direction != row.direction && row.direction) row.direction = Verdict::undecided;
      if (other->verdict == row.verdict || !turns.empty()) continue;
      turns = "on an edge: with " + to_text(sensitivity_band()[i]) + ' ' +
              four_digits(other->ours.value) + ", " + std::string(verdict_name(other->verdict));
    }
    if (!turns.empty()) {
      row.verdict = Verdict::undecided;
      row.reason = turns;
      ++edges_;
    } else if (is_complete) {
      ++hold_;
    }
  }

  /// What holds, and the commands that run what is missing.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines = {
        "sensitivity: of " + std::to_string(decided_) + " decided numbers on sim " +
        std::to_string(hold_) +
        " hold with the fixed and token costs of steps 6 % off, apart and together, and the tier's "
        "12 % off; " +
        std::to_string(edges_) + " are on an edge"};
    if (missing_.empty()) return lines;
    lines.back() += "; " + std::to_string(decided_ - hold_ - edges_) +
                    " lack cells. Run these, and give all archives to claims --sensitivity:";
    for (const auto& [what, cells] : missing_) {
      const auto& [experiment, variation] = what;
      const Factors& factors = sensitivity_band()[variation];
      lines.push_back(cells.command(experiment, set_options(factors), file_part(factors)));
    }
    return lines;
  }

 private:
  void note_missing(const ClaimRow& row, std::size_t variation) {
    if (row.claim->experiment.empty()) return;
    missing_[{row.claim->experiment, variation}].add(row);
  }

  std::vector<std::vector<ClaimRow>> judged_;  // by variation
  std::map<std::pair<std::string, std::size_t>, MissingCells> missing_;
  std::size_t decided_ = 0, hold_ = 0, edges_ = 0;
};

}  // namespace

void MissingCells::add(const ClaimRow& row) {
  add(row.point->cells);
  if (row.point->is_ratio) add(row.point->base);
  repeats_ = std::max(repeats_, row.ours.repeats);
}

void MissingCells::add(const CellFilter& filter) {
  for (const char* key : {"gpu", "policy", "jps"}) {
    const auto found = filter.find(key);
    if (found == filter.end()) {
      any_.insert(key);
    } else {
      values_[key].insert(found->second.begin(), found->second.end());
    }
  }
}

std::string MissingCells::only_options() const {
  std::string text;
  for (const auto& [key, allowed] : values_) {
    if (any_.contains(key) || allowed.contains("-")) continue;
    text += (text.empty() ? " --only " : ",") + key + '=';
    for (const std::string& each : allowed) text += (each == *allowed.begin() ? "" : ",") + each;
  }
  return text;
}

std::string MissingCells::command(const std::string& experiment, const std::string& set,
                                  const std::string& suffix) const {
  return "  kvsweep run sweeps/experiments/" + experiment +
         ".toml --set repeat.n=" + std::to_string(repeats_) + set + only_options() + " --archive " +
         experiment + suffix + ".h5";
}

const std::vector<Factors>& sensitivity_band() {
  static const std::vector<Factors> band = {{{kFixed, 0.94}},
                                            {{kFixed, 1.06}},
                                            {{kToken, 0.94}},
                                            {{kToken, 1.06}},
                                            {{kFixed, 0.94}, {kToken, 0.94}},
                                            {{kFixed, 1.06}, {kToken, 1.06}},
                                            {{kTier, 0.88}},
                                            {{kTier, 1.12}}};
  return band;
}

std::string to_text(const Factors& factors) {
  std::string text;
  for (const auto& [key, value] : factors)
    text += (text.empty() ? "" : ", ") + key + '=' + number_text(value);
  return text;
}

bool has_factors(const ConfiguredCell& cell, const Factors& factors) {
  if (cell.record->backend != "sim") return factors.empty();
  for (const char* key : {kFixed, kToken, kTier}) {
    const double wanted = key == kTier && !has_tier(cell) ? 1 : factor(factors, key);
    if (std::abs(factor(cell, key) - wanted) > 1e-9) return false;
  }
  return true;
}

void judge_sensitivity(ClaimReport& report, std::span<const ConfiguredCell> cells,
                       const LoadTable& load) {
  Band band(report.claims, cells, load);
  for (ClaimRow& row : report.rows) band.judge(row);
  report.band = band.lines();
}

}  // namespace analysis
