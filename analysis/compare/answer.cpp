#include "analysis/compare/answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "analysis/text/export_grid.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// "1", "1 and 3", "1, 3 and 6".
std::string listed(const Texts& texts) {
  std::string list;
  for (std::size_t i = 0; i < texts.size(); ++i)
    list += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  return list;
}

/// "4.01 (3.9 .. 4.1)".
std::string ratio_text(const Ratio& ratio) {
  const auto text = [](double value) {
    return value < 10 ? two_decimals(value) : four_digits(value);
  };
  if (std::isnan(ratio.interval.low)) return text(ratio.value);
  return text(ratio.value) + " (" + text(ratio.interval.low) + " .. " + text(ratio.interval.high) +
         ')';
}

std::string place_text(const Place& place) {
  return place.gpu + (place.settings.empty() ? "" : ", " + place.settings);
}

/// The best policies, in the order of their names: means of those that tie say nothing.
Texts winners_of(const Regime& regime) {
  Texts winners = regime.tied;
  winners.push_back(regime.winner);
  std::ranges::sort(winners);
  return winners;
}

bool same_outcome(const Regime& a, const Regime& b) {
  return winners_of(a) == winners_of(b) && a.next == b.next;
}

std::string jobs_per_second(const Texts& rates) {
  return listed(rates) + (rates == Texts{"1"} ? " job/s" : " jobs/s");
}

/// Regimes of one line with the same outcome.
std::string outcome_text(std::span<const Regime> regimes) {
  const Regime& first = regimes.front();
  Texts rates, ratios;
  for (const Regime& each : regimes) {
    rates.push_back(each.jps);
    ratios.push_back(ratio_text(each.next_over_winner));
  }
  std::string text = "at " + jobs_per_second(rates) + ' ' + listed(winners_of(first)) +
                     (first.tied.empty() ? " is best" : " tie");
  if (!first.next.empty())
    text += " (" + first.next + ", the next, takes " + listed(ratios) + " times as long)";
  return text;
}

std::string line_of(std::span<const Regime> regimes) {
  const Regime& first = regimes.front();
  std::string line = place_text(first.place);
  if (first.dram != "-") line += " with " + first.dram + " GiB";
  const char* separator = ": ";
  for (std::size_t from = 0, to = 0; from < regimes.size(); from = to) {
    while (to < regimes.size() && same_outcome(regimes[from], regimes[to])) ++to;
    line += separator + outcome_text(regimes.subspan(from, to - from));
    separator = "; ";
  }
  return line;
}

bool all_zero(const BySeed& values) {
  return !values.empty() &&
         std::ranges::all_of(values, [](const auto& entry) { return entry.second == 0; });
}

/// All figures of all repeats that do not depend on the machine, and where they are comparable.
std::string results_of(const PolicyCells& policy) {
  std::string text = policy.place.kind + '\n' + policy.place.gpu + '\n' + policy.place.settings +
                     '\n' + policy.jps + '\n';
  for (const ConfiguredCell* cell : policy.repeats)
    for (const sweep::Figure& figure : cell->record->figures)
      if (!figure.is_volatile) text += exact_number(figure.value) + ' ';
  return text;
}

/// What is to be said, once, with the rates at which it holds.
class Remarks {
 public:
  void add(const std::string& text, const std::string& jps) {
    const auto known = std::ranges::find(remarks_, text, &std::pair<std::string, Texts>::first);
    Texts& rates =
        known == remarks_.end() ? remarks_.emplace_back(text, Texts{}).second : known->second;
    if (std::ranges::find(rates, jps) == rates.end()) rates.push_back(jps);
  }

  Texts lines() const {
    Texts lines;
    for (const auto& [text, rates] : remarks_)
      lines.push_back(text + " at " + jobs_per_second(rates));
    return lines;
  }

 private:
  std::vector<std::pair<std::string, Texts>> remarks_;
};

}  // namespace

std::vector<Regime> regimes_of(const Place& place, const std::string& jps,
                               std::span<const Contender> contenders, Direction direction) {
  std::vector<Regime> regimes;
  for (const Decision& decision : decide(contenders, direction)) {
    if (!decision.next && decision.tied.empty()) continue;
    const Contender& best = contenders[decision.best];
    Regime& regime = regimes.emplace_back();
    regime.place = place;
    regime.dram = decision.dram;
    regime.jps = jps;
    regime.winner = best.name;
    regime.value = mean_of(best.values);
    for (const std::size_t at : decision.tied) regime.tied.push_back(contenders[at].name);
    if (!decision.next) continue;
    regime.next = contenders[*decision.next].name;
    regime.next_value = mean_of(contenders[*decision.next].values);
    regime.next_over_winner = decision.next_over_best;
  }
  return regimes;
}

std::vector<std::string> answer_lines(std::span<const Regime> regimes) {
  std::vector<std::pair<const Regime*, std::vector<Regime>>> lines;
  for (const Regime& each : regimes) {
    auto line = std::ranges::find_if(lines, [&](const auto& known) {
      return known.first->place == each.place && known.first->dram == each.dram;
    });
    if (line == lines.end()) line = lines.insert(lines.end(), {&each, {}});
    line->second.push_back(each);
  }
  Texts texts;
  for (const auto& [first, own] : lines) texts.push_back(line_of(own));
  return texts;
}

std::string answer_heading(std::span<const Regime> regimes) {
  Texts kinds;
  std::size_t least = SIZE_MAX, most = 0;
  for (const Regime& each : regimes) {
    if (std::ranges::find(kinds, each.place.kind) == kinds.end()) kinds.push_back(each.place.kind);
    least = std::min(least, each.value.repeats);
    most = std::max(most, each.value.repeats);
  }
  if (regimes.empty()) return "";
  std::string text = "By mean job completion time; " + listed(kinds) + "; ";
  text += (least < most ? std::to_string(least) + " to " : "") + std::to_string(most);
  text += most == 1 ? " seed" : " seeds";
  return text + (most < 3 ? ", no intervals below three" : ", 95 % intervals");
}

std::vector<std::string> idle_mechanisms(std::span<const PolicyCells> policies) {
  Remarks remarks;
  std::map<std::string, std::string> first_with;  // results -> policy
  for (const PolicyCells& each : policies) {
    const ConfiguredCell& cell = *each.repeats.front();
    const std::string subject = place_text(each.place) + ": " + each.policy;
    const std::string retention = shown(cell.value("policy.retention"));
    if (retention != "-" && retention != "free" &&
        all_zero(by_seed(each.repeats, "gap_held_tok_s")))
      remarks.add(subject + " pins no KV", each.jps);
    if (cell.value("dram_gib") && all_zero(by_seed(each.repeats, "host_hit_tok")))
      remarks.add(subject + " finds nothing in host memory", each.jps);
    const auto [twin, is_new] = first_with.emplace(results_of(each), each.policy);
    if (!is_new) remarks.add(subject + " and " + twin->second + " have equal results", each.jps);
  }
  return remarks.lines();
}

}  // namespace analysis
