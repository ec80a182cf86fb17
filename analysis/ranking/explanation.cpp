#include "analysis/ranking/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "analysis/ranking/mechanisms.hpp"
#include "analysis/ranking/place_names.hpp"
#include "analysis/ranking/policy_parts.hpp"
#include "analysis/ranking/policy_rows.hpp"
#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

Ratio times_as_fast(const PolicyCells& policy, const PolicyCells& base) {
  return ratio_of(by_seed(base.repeats, kAnswerFigure), by_seed(policy.repeats, kAnswerFigure));
}

/// How fast one part of a policy is alone.
struct Alone {
  std::string text;             // "order alone (job_fcfs)", "retention alone (pin) has no result"
  std::vector<Ratio> speeds{};  // at each rate; none if it did not run, or is as fast as the policy
  std::string missing{};        // the policy that would tell
};

Alone alone_of(const RateRow& row, const PolicyCells& best, std::string_view part,
               const PolicyCells& fcfs) {
  const Parts wanted = {{part, parts_of(cell_of(best)).at(part)}};
  const std::string name = std::string(part) + " alone";
  for (const PolicyCells& each : row.policies) {
    if (parts_beside(cell_of(each), cell_of(fcfs)) != wanted) continue;
    if (std::abs(times_as_fast(best, each).value - 1) < kEqual)
      return {name + " (" + each.variant + ") is as fast"};
    return {name + " (" + each.variant + ')', {times_as_fast(each, fcfs)}};
  }
  const std::string policy = policy_of_part(part, value_of(cell_of(best), part));
  if (policy.empty()) return {name + " did not run"};
  return {name + " (" + policy + ") has no result", {}, policy};
}

/// An explanation that holds at some rates.
struct Explanation {
  std::string place, gpu, policy, base;
  std::string mechanism;  // what it hardly does
  Texts rates{};
  std::vector<Ratio> speeds{};
  std::vector<Tail> tails{};
  std::vector<Alone> parts{};

  /// Whether another one says the same of its rate.
  bool matches(const Explanation& other) const {
    return place == other.place && policy == other.policy && base == other.base &&
           mechanism == other.mechanism &&
           std::ranges::equal(parts, other.parts, {}, &Alone::text, &Alone::text);
  }

  void add(const Explanation& other) {
    rates.push_back(other.rates.front());
    speeds.push_back(other.speeds.front());
    tails.push_back(other.tails.front());
    for (std::size_t i = 0; i < parts.size(); ++i)
      std::ranges::copy(other.parts[i].speeds, std::back_inserter(parts[i].speeds));
  }

  std::string text() const {
    const std::string where = at_rates(rates);
    std::string line = where + (where.empty() ? "" : " ") + policy + " is " +
                       ratios_text(speeds, " times as fast as " + base);
    if (const std::string worse = worse_text(tails); !worse.empty()) line += ", but " + worse;
    if (!mechanism.empty()) line += "; it " + mechanism;
    const char* separator = "; ";
    for (const Alone& each : parts) {
      line += separator + each.text;
      if (!each.speeds.empty()) line += ' ' + ratios_text(each.speeds, "");
      separator = ", ";
    }
    return line;
  }
};

/// The best policies, in the order of the row, without those that are a part of another one; none
/// if `fcfs` is among them.
std::vector<const PolicyCells*> to_explain(const RateRow& row, const Regime& regime,
                                           const PolicyCells& fcfs) {
  std::vector<const PolicyCells*> best;
  for (const PolicyCells& each : row.policies) {
    const bool is_best = each.variant == regime.winner ||
                         std::ranges::find(regime.tied, each.variant) != regime.tied.end();
    if (is_best && &each == &fcfs) return {};
    if (is_best) best.push_back(&each);
  }
  const auto is_part_of_another = [&](const PolicyCells* one) {
    const Parts parts = parts_of(cell_of(*one));
    return std::ranges::any_of(best, [&](const PolicyCells* other) {
      const Parts more = parts_of(cell_of(*other));
      return more.size() > parts.size() && std::ranges::includes(more, parts);  // which names it
    });
  };
  std::vector<const PolicyCells*> whole;
  std::ranges::remove_copy_if(best, std::back_inserter(whole), is_part_of_another);
  return whole;
}

/// The parts of `best`, and how fast they are alone.
std::vector<Alone> parts_alone(const RateRow& row, const PolicyCells& best,
                               const PolicyCells& fcfs) {
  const Parts parts = parts_beside(cell_of(best), cell_of(fcfs));
  std::vector<Alone> all;
  for (const std::string_view part : part_names()) {
    if (!parts.contains(part)) continue;
    if (parts.size() > 1) {
      all.push_back(alone_of(row, best, part, fcfs));
    } else {
      all.push_back({"they differ in " + std::string(part) + " alone (" +
                     value_of(cell_of(best), part) + ')'});
    }
  }
  return all;
}

/// Why `best` is faster than `fcfs`; without parts if `fcfs` has some that
/// `best` has not.
Explanation explanation_of(const RateRow& row, const PolicyCells* best, const PolicyCells& fcfs,
                           const Regime& regime, const PlaceNames& names) {
  Explanation made{name_of(regime, names), row.place.gpu, best->variant, fcfs.variant,
                   idle_pins(*best)};
  made.rates = {row.jps};
  made.speeds = {times_as_fast(*best, fcfs)};
  made.tails = {tail_of(row, *best)};
  made.parts = parts_alone(row, *best, fcfs);
  return made;
}

/// One for each policy and place that is best, with all rates at which the same is said.
std::vector<Explanation> explanations(std::span<const RateRow> rows,
                                      std::span<const Regime> regimes) {
  const PlaceNames names = place_names(regimes);
  std::vector<Explanation> all;
  for (const Regime& regime : regimes) {
    const RateRow* row = row_of(rows, regime);
    const PolicyCells* fcfs = row == nullptr ? nullptr : base_of(*row);
    if (fcfs == nullptr) continue;
    for (const PolicyCells* best : to_explain(*row, regime, *fcfs)) {
      const Explanation made = explanation_of(*row, best, *fcfs, regime, names);
      if (made.parts.empty()) continue;
      const auto known =
          std::ranges::find_if(all, [&](const Explanation& each) { return each.matches(made); });
      if (known == all.end()) {
        all.push_back(made);
      } else {
        known->add(made);
      }
    }
  }
  return all;
}

/// The words of a command line as shell_word() writes them, with their quotes.
Texts quoted_words(const std::string& line) {
  Texts words(1);
  bool is_quoted = false;
  char before = ' ';
  for (const char each : line) {
    if (each == '\'' && (is_quoted || before != '\\')) is_quoted = !is_quoted;
    if (each == ' ' && !is_quoted)
      words.emplace_back();
    else
      words.back() += each;
    before = each;
  }
  std::erase(words, "");
  return words;
}

}  // namespace

std::vector<AnswerLine> explain(std::span<const RateRow> rows, std::span<const Regime> regimes) {
  std::vector<AnswerLine> lines;
  for (const Explanation& each : explanations(rows, regimes))
    lines.push_back({each.place, each.text()});
  return lines;
}

std::vector<Ablation> missing_ablations(std::span<const RateRow> rows,
                                        std::span<const Regime> regimes) {
  std::vector<Ablation> ablations;
  for (const Explanation& each : explanations(rows, regimes)) {
    for (const Alone& part : each.parts) {
      const std::string& policy = part.missing;
      if (policy.empty()) continue;
      auto known = std::ranges::find(ablations, policy, &Ablation::policy);
      if (known == ablations.end()) known = ablations.insert(known, Ablation{policy, {}, {}});
      add_once(known->gpus, each.gpu);
      for (const std::string& rate : each.rates) add_once(known->rates, rate);
    }
  }
  for (Ablation& each : ablations)
    std::ranges::sort(each.rates, {},
                      [](const std::string& rate) { return std::atof(rate.c_str()); });
  return ablations;
}

std::string command_again(const std::string& run) {
  constexpr std::array kFlags = {"--resume", "--fresh", "--no-prev", "--retry-quarantined"};
  constexpr std::array kWithValue = {"--archive", "--only", "--skip",      "--cell",
                                     "--jsonl",   "--wait", "--time-limit"};
  std::string command = "kvsweep";
  bool is_dropped_value = false;
  for (const std::string& word : quoted_words(run)) {
    if (std::exchange(is_dropped_value, false)) continue;
    is_dropped_value = std::ranges::find(kWithValue, word) != kWithValue.end();
    if (!is_dropped_value && std::ranges::find(kFlags, word) == kFlags.end()) command += ' ' + word;
  }
  return command;
}

std::string ablation_command(const Ablation& ablation, const std::string& run) {
  std::string command = command_again(run) + " --set policy=" + ablation.policy +
                        " --only gpu=" + sweep::joined(ablation.gpus, ",");
  if (ablation.rates != Texts{"-"}) command += ",jps=" + sweep::joined(ablation.rates, ",");
  return command + " --archive " + ablation.policy + ".h5";
}

}  // namespace analysis
