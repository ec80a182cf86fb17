#include "analysis/ranking/answer.hpp"

#include <cmath>

#include "analysis/ranking/sentences.hpp"
#include "analysis/text/escape.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

std::string seconds_text(double s) {
  return sweep::formatted(s < 0.1 ? "%.3f" : s < 10 ? "%.2f" : "%.1f", s);
}

/// The sentence on one policy and figure: "continuum's p99 TTFT is 1.35 times fcfs's at 6 jobs/s".
std::string worse_text(std::span<const Tail> tails, const std::string& policy, std::size_t figure,
                       const std::string& whose) {
  Texts rates;
  std::vector<Ratio> ratios;
  bool is_everywhere = true;
  std::string fcfs;
  for (const Tail& each : tails) {
    if (each.policy != policy) continue;
    const Tail::Value& value = each.values[figure];
    is_everywhere = is_everywhere && value.is_worse();
    if (!value.is_worse()) continue;
    fcfs = each.fcfs;
    rates.push_back(each.jps);
    ratios.emplace_back().value = value.over_fcfs;
  }
  if (ratios.empty()) return "";
  const std::string where = is_everywhere ? "" : at_rates(rates);
  return whose + " p99 " + std::string(kTailFigures[figure].name) + " is " +
         ratios_text(ratios, " times " + fcfs + "'s") + (where.empty() ? "" : ' ' + where);
}

/// fcfs, or the first variant of it in the row beside `policy`.
const PolicyCells* fcfs_of(const RateRow& row, const PolicyCells& policy) {
  if (const PolicyCells* only = row.fcfs()) return only;
  const auto found = std::ranges::find_if(row.policies, [&](const PolicyCells& each) {
    return &each != &policy && unchanged_variant(each) == "fcfs";
  });
  return found == row.policies.end() ? nullptr : &*found;
}

using Others = std::vector<Regime::Other>;

Texts sorted(Texts texts) {
  std::ranges::sort(texts);
  return texts;
}

Texts sorted_names(const Others& others) { return sorted(names_of(others)); }

/// The best policies, in the order of their names: means of those that tie say nothing.
Texts winners_of(const Regime& regime) {
  Texts winners = regime.tied;
  winners.push_back(regime.winner);
  return sorted(std::move(winners));
}

bool same_outcome(const Regime& a, const Regime& b) {
  return winners_of(a) == winners_of(b) && sorted_names(a.next) == sorted_names(b.next) &&
         sorted_names(a.undecided) == sorted_names(b.undecided);
}

using Span = std::span<const Regime>;

/// How a figure over the best one is said.
struct Words {
  std::string one, several, unit;  // "takes", "take", " times as long"
};

Words words_for(std::string_view figure) {
  if (figure.ends_with("_s") && direction_of(figure) == Direction::lower)
    return {" takes ", " take ", " times as long"};
  return {" has ", " have ", " times as much"};
}

/// A policy over the winner: "4.00 to 4.02 times as long (3.90 .. 4.10)".
std::string with_ratios(Span regimes, const std::string& name, Others Regime::*group,
                        const Words& words) {
  std::vector<Ratio> ratios;
  for (const Regime& each : regimes)
    for (const Regime::Other& other : each.*group)
      if (other.name == name) ratios.push_back(other.over_winner);
  const bool is_paired = std::ranges::all_of(ratios, &Ratio::paired);
  return ratios_text(ratios, words.unit) + (is_paired ? "" : ", over different seeds");
}

/// The winners' tails: " (p99: TTFT 24.6 s), but its p99 TTFT is 1.35 times fcfs's".
std::string tails_text(Span regimes) {
  std::vector<Tail> tails;
  for (const Regime& each : regimes) std::ranges::copy(each.tails, std::back_inserter(tails));
  const std::string p99 = p99_text(tails), worse = worse_text(tails);
  return (p99.empty() ? "" : " (" + p99 + ')') + (worse.empty() ? "" : ", but " + worse);
}

/// Regimes of one place with the same outcome.
std::string outcome_text(Span regimes, const Words& words) {
  const Regime& first = regimes.front();
  std::string text = at_rates(mapped(regimes, &Regime::jps));
  text += (text.empty() ? "" : " ") + listed(winners_of(first));
  text += !first.undecided.empty() ? " may be best" : first.tied.empty() ? " is best" : " tie";
  text += tails_text(regimes);
  for (const std::string& name : sorted_names(first.undecided))
    text += "; " + name + " is undecided, " + with_ratios(regimes, name, &Regime::undecided, words);
  if (first.next.empty()) return text;
  return text + "; " + listed(sorted_names(first.next)) +
         (first.next.size() > 1 ? words.several : words.one) +
         with_ratios(regimes, first.next.front().name, &Regime::next, words);
}

/// A line for each run of rates with the same outcome.
void add_lines(std::vector<AnswerLine>& lines, Span regimes, bool several_kinds,
               const Words& words) {
  for (std::size_t from = 0, to = 0; from < regimes.size(); from = to) {
    while (to < regimes.size() && same_outcome(regimes[from], regimes[to])) ++to;
    const Regime& first = regimes[from];
    lines.push_back({(several_kinds ? first.place.kind + ", " : "") + name_of(first),
                     outcome_text(regimes.subspan(from, to - from), words)});
  }
}

/// The policies within 1 % of the first.
Others nearest(const Others& behind) {
  Others next;
  for (const Regime::Other& each : behind) {
    const double apart = each.over_winner.value / behind.front().over_winner.value - 1;
    if (next.empty() || std::abs(apart) < kEqual) next.push_back(each);
  }
  return next;
}

Regime regime_of(const Decision& decision, std::span<const Contender> contenders) {
  const Contender& best = contenders[decision.best];
  Regime regime;
  regime.dram = decision.dram;
  regime.winner = best.name;
  regime.value = mean_of(best.values);
  regime.repeats = best.values.size();
  Others behind;
  for (const Rival& rival : decision.rivals) {
    const Regime::Other other{contenders[rival.at].name, rival.over_best};
    regime.repeats = std::min(regime.repeats, rival.over_best.repeats);
    if (rival.standing == Standing::tied) regime.tied.push_back(other.name);
    if (rival.standing == Standing::undecided) regime.undecided.push_back(other);
    if (rival.standing == Standing::behind) behind.push_back(other);
  }
  if (!behind.empty()) regime.next = nearest(behind);
  return regime;
}

/// The GPUs whose cost model is scaled from another card or model.
Texts estimated_cards(std::span<const RateRow> rows) {
  Texts cards;
  for (const RateRow& row : rows) {
    for (const PolicyCells& policy : row.policies) {
      const auto& notes = policy.repeats.front()->record->notes;
      const sweep::Note* model = sweep::find_named(notes, "cost_model");
      if (model != nullptr && model->text.ends_with("(estimated)")) add_once(cards, row.place.gpu);
    }
  }
  return cards;
}

}  // namespace

Tail tail_of(const RateRow& row, const PolicyCells& policy) {
  const PolicyCells* fcfs = fcfs_of(row, policy);
  Tail tail{policy.variant, row.jps, fcfs != nullptr ? fcfs->variant : "", {}};
  for (std::size_t i = 0; i < kTailFigures.size(); ++i) {
    const BySeed own = by_seed(policy.repeats, kTailFigures[i].figure);
    tail.values[i].s = mean_of(own).value;
    if (fcfs != nullptr)
      tail.values[i].over_fcfs =
          ratio_of(own, by_seed(fcfs->repeats, kTailFigures[i].figure)).value;
  }
  return tail;
}

std::string p99_text(std::span<const Tail> tails) {
  Texts texts;
  for (std::size_t i = 0; i < kTailFigures.size(); ++i) {
    double least = sweep::kNotObserved, most = least;
    for (const Tail& each : tails) {
      least = std::fmin(least, each.values[i].s);
      most = std::fmax(most, each.values[i].s);
    }
    if (!std::isnan(least))
      texts.push_back(std::string(kTailFigures[i].name) + ' ' +
                      from_to(seconds_text(least), seconds_text(most)) + " s");
  }
  if (texts.empty()) return "";
  const bool is_compared = std::ranges::any_of(
      tails, [](const Tail& each) { return each.policy.empty() || !each.fcfs.empty(); });
  return "p99: " + sweep::joined(texts) + (is_compared ? "" : "; no fcfs beside it");
}

std::string worse_text(std::span<const Tail> tails) {
  Texts policies, texts;
  for (const Tail& each : tails) add_once(policies, each.policy);
  for (const std::string& policy : policies) {
    const std::string whose = policies.size() == 1 ? "its" : policy + "'s";
    for (std::size_t i = 0; i < kTailFigures.size(); ++i)
      if (const std::string text = worse_text(tails, policy, i, whose); !text.empty())
        texts.push_back(text);
  }
  return listed(texts);
}

std::string name_of(const Regime& regime) {
  return regime.place.name() + (regime.dram == "-" ? "" : " with " + regime.dram + " GiB");
}

Texts names_of(std::span<const Regime::Other> others) {
  return mapped(others, &Regime::Other::name);
}

std::vector<Regime> regimes_of(const Place& place, const std::string& jps,
                               std::span<const Contender> contenders, Direction direction) {
  std::vector<Regime> regimes;
  for (const Decision& decision : decide(contenders, direction)) {
    if (decision.rivals.empty()) continue;
    Regime& regime = regimes.emplace_back(regime_of(decision, contenders));
    regime.place = place;
    regime.jps = jps;
  }
  return regimes;
}

std::vector<Contender> contenders_of(const RateRow& row, std::string_view figure) {
  return mapped(row.policies, [&](const PolicyCells& policy) {
    return Contender{policy.variant, policy.dram, by_seed(policy.repeats, figure)};
  });
}

std::vector<Regime> regimes_of(std::span<const RateRow> rows, std::string_view figure) {
  std::vector<Regime> regimes;
  for (const RateRow& row : rows) {
    for (Regime& each :
         regimes_of(row.place, row.jps, contenders_of(row, figure), direction_of(figure))) {
      for (const std::string& winner : winners_of(each))
        each.tails.push_back(tail_of(row, *row.find(winner)));
      regimes.push_back(std::move(each));
    }
  }
  return regimes;
}

std::vector<AnswerLine> answer_lines(std::span<const Regime> regimes, std::string_view figure) {
  const bool several_kinds = kinds_of(regimes).size() > 1;
  std::vector<std::pair<const Regime*, std::vector<Regime>>> lines;
  for (const Regime& each : regimes) {
    auto line = std::ranges::find_if(lines, [&](const auto& known) {
      return known.first->place == each.place && known.first->dram == each.dram;
    });
    if (line == lines.end()) line = lines.insert(lines.end(), {&each, {}});
    line->second.push_back(each);
  }
  std::vector<AnswerLine> all;
  for (const auto& [first, own] : lines) add_lines(all, own, several_kinds, words_for(figure));
  return all;
}

void print_answer_lines(std::span<const RateRow> rows, std::string_view figure, std::ostream& out) {
  for (const AnswerLine& line : answer_lines(regimes_of(rows, figure), figure))
    out << terminal_text(line.text()) << '\n';
}

std::string answer_heading(std::span<const Regime> regimes) {
  if (regimes.empty()) return "";
  std::size_t least = SIZE_MAX, most = 0;
  for (const Regime& each : regimes) {
    least = std::min(least, each.repeats);
    most = std::max(most, each.repeats);
  }
  std::string text = "By mean job completion time; " + listed(kinds_of(regimes)) + "; ";
  text += (least < most ? std::to_string(least) + " to " : "") + std::to_string(most);
  text += most == 1 ? " seed, " : " seeds, ";
  return text + (most < kFewestRepeats
                     ? "no intervals below three"
                     : "95 % intervals, unadjusted; what is best, by Holm's rule at 5 %");
}

Answer answer_of(std::span<const RateRow> rows) {
  const std::vector<Regime> regimes = regimes_of(rows, kAnswerFigure);
  std::string heading = answer_heading(regimes);
  if (const Texts cards = estimated_cards(rows); !heading.empty() && !cards.empty())
    heading += "; kernels of " + listed(cards) + " are estimated";
  return {heading, answer_lines(regimes)};
}

}  // namespace analysis
