#include "analysis/answer/published_winners.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/answer/place_names.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

/// A policy of a regime with its published value.
struct Known {
  std::string variant;
  double value;
};

/// The policies that compete in the regime and have a published value, the fastest first.
std::vector<Known> known_values(const RateRow& row, const Regime& regime,
                                const Published& published) {
  std::vector<Known> known;
  for (const PolicyCells& policy : row.policies) {
    if (policy.dram != "-" && policy.dram != regime.dram) continue;
    const double value = published.value(*policy.repeats.front(), std::string(kAnswerFigure));
    if (!std::isnan(value)) known.push_back({policy.variant, value});
  }
  std::ranges::stable_sort(known, {}, &Known::value);
  return known;
}

bool may_be_best(const Regime& regime, const std::string& variant) {
  const auto undecided = names_of(regime.undecided);
  return variant == regime.winner || std::ranges::find(regime.tied, variant) != regime.tied.end() ||
         std::ranges::find(undecided, variant) != undecided.end();
}

/// "72-run policy matrix" of "72-run policy matrix (H100 80GB, ...), 2026-04-16"
std::string short_source(const std::string& source) {
  const std::string name = source.substr(0, source.find_first_of("(,"));
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

void add(std::vector<PublishedWinner>& all, const PublishedWinner& found) {
  for (PublishedWinner& each : all) {
    if (each.place != found.place || each.ours != found.ours || each.theirs != found.theirs ||
        each.source != found.source)
      continue;
    each.rates.push_back(found.rates.front());
    each.ours_over_theirs.push_back(found.ours_over_theirs.front());
    return;
  }
  all.push_back(found);
}

}  // namespace

std::vector<PublishedWinner> published_otherwise(std::span<const RateRow> rows,
                                                 std::span<const Regime> regimes,
                                                 std::span<const Published> published) {
  const PlaceNames names = place_names(regimes);
  std::vector<PublishedWinner> all;
  for (const Regime& regime : regimes) {
    const RateRow* row = row_of(rows, regime);
    if (row == nullptr) continue;
    for (const Published& each : published) {
      const std::vector<Known> known = known_values(*row, regime, each);
      if (known.empty() || may_be_best(regime, known.front().variant)) continue;
      const auto ours = std::ranges::find(known, regime.winner, &Known::variant);
      if (ours == known.end() || ours->value < (1 + kEqual) * known.front().value) continue;
      Ratio ratio;
      ratio.value = ours->value / known.front().value;
      add(all, {name_of(regime, names),
                regime.place.gpu,
                regime.dram,
                regime.winner,
                known.front().variant,
                short_source(each.source),
                {regime.jps},
                {ratio}});
    }
  }
  return all;
}

AnswerLine line_of(const PublishedWinner& otherwise) {
  std::string says = "published otherwise (" + otherwise.source;
  if (!otherwise.claims.empty())
    says += (otherwise.claims.size() > 1 ? "; claims " : "; claim ") + listed(otherwise.claims);
  const std::string where = at_rates(otherwise.rates);
  says += "): " + where + (where.empty() ? "" : " ") + otherwise.theirs + " is best, " +
          otherwise.ours + " takes " + ratios_text(otherwise.ours_over_theirs, " times as long");
  return {otherwise.place, says};
}

std::vector<AnswerLine> lines_of(std::span<const PublishedWinner> otherwise) {
  std::vector<AnswerLine> lines;
  for (const PublishedWinner& each : otherwise) lines.push_back(line_of(each));
  return lines;
}

}  // namespace analysis
