#include "analysis/capacity/search.hpp"

#include <cmath>

namespace analysis {
namespace {

constexpr std::size_t kLookAside = 2;  // loads

/// The first load that is at least twice the load `at`, or the last one.
std::size_t doubled(const std::vector<double>& loads, std::size_t at) {
  const auto found = std::ranges::lower_bound(loads, 2 * loads[at]);
  return std::min<std::size_t>(loads.size() - 1, static_cast<std::size_t>(found - loads.begin()));
}

/// Whether a seed meets up to this load.
auto meets_at(std::size_t load) {
  return [load](const SeedAnswers& each) { return each.most() == load; };
}

/// Whether the interval reaches further than the next load on either side.
bool is_wide(const Estimate& capacity, const std::vector<double>& loads) {
  const std::size_t at = std::min(load_below(loads, capacity.value), loads.size() - 2);
  return (capacity.interval.high - capacity.interval.low) / 2 > loads[at + 1] - loads[at];
}

/// The largest load that was not tried, from half of the seed's answer up to it.
std::optional<std::size_t> untried_below(const SeedAnswers& answers,
                                         const std::vector<double>& loads) {
  std::size_t load = answers.most().value_or(0);
  for (const double half = loads[load] / 2; load > 0 && loads[load] >= half; --load)
    if (!answers.met.contains(load)) return load;
  return std::nullopt;
}

/// Adds to the seed's answers; `closely` where some load meets the objective above one that does
/// not.
void search_seed(const SearchRules& rules, int seed, std::size_t start, bool closely,
                 RowSearch& row, const MeetsAt& meets) {
  SeedAnswers& answers = row.seeds[static_cast<std::size_t>(seed)];
  for (;;) {
    auto load = next_load(answers, start, rules.loads);
    if (!load && closely) load = untried_below(answers, rules.loads);
    if (!load) return;
    const Question question{*load, seed};
    row.asked.push_back(question);
    const std::optional<bool> met = meets(question);
    if (!met) {
      row.open.push_back(question);
      return;
    }
    answers.met[*load] = *met;
  }
}

}  // namespace

std::size_t load_below(const std::vector<double>& loads, double load) {
  const auto above = std::ranges::upper_bound(loads, load);
  return above == loads.begin() ? 0 : static_cast<std::size_t>(above - loads.begin()) - 1;
}

std::vector<double> loads_between(double least, double most, double step, bool whole,
                                  std::vector<double> also) {
  std::vector<double> loads = std::move(also);
  for (double load = least; load < most;) {
    loads.push_back(load);
    load = whole ? std::max(load + 1, std::round(load * (1 + step)))
                 : sweep::with_three_digits(load * (1 + step));
  }
  loads.push_back(most);
  std::erase_if(loads, [&](double load) { return load < least || load > most; });
  std::ranges::sort(loads);
  loads.erase(std::ranges::unique(loads).begin(), loads.end());
  return loads;
}

std::optional<std::size_t> SeedAnswers::miss() const {
  for (const auto& [load, is_met] : met)
    if (!is_met) return load;
  return std::nullopt;
}

std::optional<std::size_t> SeedAnswers::most() const {
  std::optional<std::size_t> last;
  for (const auto& [load, is_met] : met) {
    if (!is_met) break;
    last = load;
  }
  return last;
}

std::vector<std::size_t> SeedAnswers::above() const {
  std::vector<std::size_t> loads;
  const auto least = miss();
  for (const auto& [load, is_met] : met)
    if (is_met && least && load > *least) loads.push_back(load);
  return loads;
}

std::optional<std::size_t> next_load(const SeedAnswers& answers, std::size_t start,
                                     const std::vector<double>& loads) {
  if (answers.met.empty()) return start;
  const auto most = answers.most(), miss = answers.miss();
  const std::size_t last = loads.size() - 1;
  const std::size_t step = std::size_t{1} << std::min<std::size_t>(answers.met.size() - 1, 20);
  if (!miss) {
    if (*most == last) return std::nullopt;
    return std::min({last, *most + step, std::max(*most + 1, doubled(loads, *most))});
  }
  if (!most) {
    if (*miss == 0) return std::nullopt;
    return std::max(*miss > step ? *miss - step : 0,
                    std::min(*miss - 1, load_below(loads, loads[*miss] / 2)));
  }
  if (*miss - *most > 1) return (*most + *miss) / 2;
  const auto is_new = [&](std::size_t load) { return !answers.met.contains(load); };
  if (*most >= kLookAside && is_new(*most - kLookAside)) return *most - kLookAside;
  if (*miss + kLookAside <= last && is_new(*miss + kLookAside)) return *miss + kLookAside;
  return std::nullopt;
}

bool RowSearch::none_meets() const {
  return std::ranges::all_of(seeds, [](const SeedAnswers& each) { return !each.most(); });
}

bool RowSearch::all_meet(const SearchRules& rules) const {
  return std::ranges::all_of(seeds, meets_at(rules.loads.size() - 1));
}

bool RowSearch::is_cut_off(const SearchRules& rules) const {
  return std::ranges::any_of(seeds, meets_at(rules.loads.size() - 1));
}

BySeed RowSearch::capacities(const SearchRules& rules) const {
  BySeed capacities;
  for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
    if (std::ranges::count(open, static_cast<int>(seed), &Question::seed) > 0) continue;
    const auto most = seeds[seed].most();
    capacities[static_cast<std::int64_t>(seed)] = most ? rules.loads[*most] : 0;
  }
  return capacities;
}

RowSearch search_row(const SearchRules& rules, const MeetsAt& meets) {
  RowSearch row;
  std::size_t start = 0;
  for (int seeds = seeds_of_next_round(0, rules.most_seeds);;) {
    for (int seed = static_cast<int>(row.seeds.size()); seed < seeds; ++seed) {
      row.seeds.emplace_back();
      search_seed(rules, seed, start, false, row, meets);
    }
    if (row.is_over() && std::ranges::any_of(row.seeds, [](const SeedAnswers& each) {
          return !each.above().empty();
        }))
      for (int seed = 0; seed < seeds; ++seed) search_seed(rules, seed, start, true, row, meets);
    if (!row.is_over() || row.none_meets() || row.all_meet(rules)) return row;
    const Estimate capacity = mean_of(row.capacities(rules));
    if (seeds >= rules.most_seeds || !is_wide(capacity, rules.loads)) return row;
    if (start == 0) start = load_below(rules.loads, capacity.value);
    seeds = seeds_of_next_round(seeds, rules.most_seeds);
  }
}

}  // namespace analysis
