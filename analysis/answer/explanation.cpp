#include "analysis/answer/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "analysis/answer/arrangement.hpp"
#include "analysis/answer/mechanisms.hpp"
#include "analysis/answer/parts.hpp"
#include "analysis/answer/place_names.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

/// A policy beside another one, at one rate or several.
struct WhatItDoes {
  struct Pair {
    std::vector<double> own, other;  // at each rate at which both were observed
  };
  std::string name;     // of the other policy; empty: there is none
  std::string differs;  // "other order and retention"
  Pair found_percent, recomputed_tok, queue_s;

  void add(const WhatItDoes& at_another_rate);

  /// "90 to 91 % of prompt tokens found in a cache (fcfs 36 to 40 %)"; empty if not observed.
  std::string found_text() const;
  /// "beside continuum (other order, retention and tier): 13 k tokens recomputed, not 314 k; mean
  /// queue 0.09 s, not 0.62 s". Figures less than a tenth apart are left out; empty without others.
  std::string text() const;
};

using Pair = WhatItDoes::Pair;

double figure_of(const PolicyCells& policy, const char* figure) {
  return mean_of(by_seed(policy.repeats, figure)).value;
}

/// The share of the prompt tokens whose KV was found, in percent; NaN if it was not observed.
double found_percent(const PolicyCells& policy) {
  const double on_host = figure_of(policy, "host_hit_rate");
  return 100 * (figure_of(policy, "prefix_hit_rate") + (std::isnan(on_host) ? 0 : on_host));
}

Pair pair_of(double own, double other) {
  if (std::isnan(own) || std::isnan(other)) return {};
  return {{own}, {other}};
}

std::string number_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent_text(double percent) { return number_text("%.0f", percent); }

/// "834", "13 k", "7.8 M"
std::string count_text(double count) {
  if (count >= 999'500) return number_text("%.1f M", count / 1e6);
  return count >= 1000 ? number_text("%.0f k", count / 1e3) : number_text("%.0f", count);
}

std::string seconds_text(double s) { return number_text(s < 10 ? "%.2f" : "%.1f", s); }

/// From the least to the most of the rates.
template <class TextOf>
std::string range(const std::vector<double>& values, TextOf text_of) {
  const auto [least, most] = std::ranges::minmax(values);
  return from_to(text_of(least), text_of(most));
}

bool is_apart(const Pair& pair) {
  constexpr double kApart = 0.1;
  for (std::size_t i = 0; i < pair.own.size(); ++i)
    if (std::abs(pair.own[i] - pair.other[i]) > kApart * std::max(pair.own[i], pair.other[i]))
      return true;
  return false;
}

void append(Pair& pair, const Pair& more) {
  std::ranges::copy(more.own, std::back_inserter(pair.own));
  std::ranges::copy(more.other, std::back_inserter(pair.other));
}

void WhatItDoes::add(const WhatItDoes& more) {
  append(found_percent, more.found_percent);
  append(recomputed_tok, more.recomputed_tok);
  append(queue_s, more.queue_s);
}

std::string WhatItDoes::found_text() const {
  if (found_percent.own.empty()) return "";
  return range(found_percent.own, percent_text) + " % of prompt tokens found in a cache (" + name +
         ' ' + range(found_percent.other, percent_text) + " %)";
}

std::string WhatItDoes::text() const {
  if (name.empty()) return "";
  std::vector<std::string> parts;
  if (is_apart(recomputed_tok))
    parts.push_back(range(recomputed_tok.own, count_text) + " tokens recomputed, not " +
                    range(recomputed_tok.other, count_text));
  if (is_apart(queue_s))
    parts.push_back("mean queue " + range(queue_s.own, seconds_text) + " s, not " +
                    range(queue_s.other, seconds_text) + " s");
  if (parts.empty()) return "";
  std::string text = "beside " + name + (differs.empty() ? "" : " (" + differs + ')') + ": ";
  return text + sweep::joined(parts, "; ");
}

WhatItDoes what_it_does(const PolicyCells& policy, const PolicyCells& other) {
  std::vector<std::string> names;
  for (const std::string_view part :
       differences(parts_of(cell_of(policy)), parts_of(cell_of(other))))
    names.emplace_back(part);
  WhatItDoes made{other.variant, names.empty() ? "" : "other " + listed(names), {}, {}, {}};
  made.found_percent = pair_of(found_percent(policy), found_percent(other));
  made.recomputed_tok =
      pair_of(figure_of(policy, "recomputed_tok"), figure_of(other, "recomputed_tok"));
  made.queue_s = pair_of(figure_of(policy, "queue_mean_s"), figure_of(other, "queue_mean_s"));
  return made;
}

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
  WhatItDoes beside_fcfs{}, beside_next{};

  /// Whether another one says the same of its rate.
  bool matches(const Explanation& other) const {
    return place == other.place && policy == other.policy && base == other.base &&
           mechanism == other.mechanism && beside_next.name == other.beside_next.name &&
           std::ranges::equal(parts, other.parts, {}, &Alone::text, &Alone::text);
  }

  void add(const Explanation& other) {
    rates.push_back(other.rates.front());
    speeds.push_back(other.speeds.front());
    tails.push_back(other.tails.front());
    beside_fcfs.add(other.beside_fcfs);
    beside_next.add(other.beside_next);
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
    const std::string found = beside_fcfs.found_text(), more = beside_next.text();
    return line + (found.empty() ? "" : "; " + found) + (more.empty() ? "" : "; " + more);
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

/// Why `best` is faster than `fcfs`, and than what is next; without parts if `fcfs` has some that
/// `best` has not.
Explanation explanation_of(const RateRow& row, const PolicyCells* best, const PolicyCells& fcfs,
                           const Regime& regime, const PlaceNames& names) {
  Explanation made{name_of(regime, names), row.place.gpu, best->variant, fcfs.variant,
                   idle_pins(*best)};
  made.rates = {row.jps};
  made.speeds = {times_as_fast(*best, fcfs)};
  made.tails = {tail_of(row, *best)};
  made.parts = parts_alone(row, *best, fcfs);
  made.beside_fcfs = what_it_does(*best, fcfs);
  const Texts next = names_of(regime.next);
  if (!next.empty() && std::ranges::find(next, fcfs.variant) == next.end())
    made.beside_next = what_it_does(*best, *row.find(next.front()));
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

std::string ablation_command(const Ablation& ablation, const std::string& run) {
  std::string command = "kvsweep";
  bool is_dropped_value = false;
  for (const std::string& word : quoted_words(run)) {
    if (std::exchange(is_dropped_value, false)) continue;
    is_dropped_value = word == "--archive" || word == "--only" || word == "--skip" ||
                       word == "--cell" || word == "--jsonl" || word == "--wait";
    if (is_dropped_value) continue;
    const bool is_of_that_run = word == "--resume" || word == "--fresh" || word == "--no-prev";
    if (!is_of_that_run) command += ' ' + word;
  }
  command +=
      " --set policy=" + ablation.policy + " --only gpu=" + sweep::joined(ablation.gpus, ",");
  if (ablation.rates != Texts{"-"}) command += ",jps=" + sweep::joined(ablation.rates, ",");
  return command + " --archive " + ablation.policy + ".h5";
}

}  // namespace analysis
