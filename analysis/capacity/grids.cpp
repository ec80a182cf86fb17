#include "analysis/capacity/rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

/// Columns of a grid with a line for each row.
template <class Row>
struct Columns {
  const std::vector<Row>& rows;
  bool is_csv;
  Grid grid{{}, std::vector<std::vector<std::string>>(rows.size())};

  void add(Grid::Column column, auto text_of) {
    grid.columns.push_back(std::move(column));
    for (std::size_t i = 0; i < rows.size(); ++i)
      grid.rows[i].push_back(std::invoke(text_of, rows[i]));
  }
  void text(const std::string& name, auto text_of) { add({name, "", false}, text_of); }
  void number(const std::string& name, auto number_of) {
    add({name, ""}, [&](const Row& at) {
      return exact_number(static_cast<double>(std::invoke(number_of, at)));
    });
  }
  /// Named `name` with a unit to read, `csv_name` for programs.
  void number(const std::string& name, const std::string& unit, const std::string& csv_name,
              auto number_of) {
    if (is_csv) return number(csv_name, number_of);
    add({name, unit}, [&](const Row& at) { return four_digits(std::invoke(number_of, at)); });
  }
  /// The mean and its interval.
  void numbers(const std::string& name, auto estimate_of) {
    number(name, [&](const Row& at) { return estimate_of(at).value; });
    number(name + "_low95", [&](const Row& at) { return estimate_of(at).interval.low; });
    number(name + "_high95", [&](const Row& at) { return estimate_of(at).interval.high; });
  }
  /// `csv_name` with the number and its unit, for programs; null: none.
  void limit(const std::string& name, const std::string& csv_name, auto limit_of) {
    const auto with = [&](auto of, auto none) {
      return [=](const Row& at) {
        const Limit* limit = std::invoke(limit_of, at);
        return limit == nullptr ? none : std::invoke(of, *limit);
      };
    };
    if (!is_csv) return text(name, with(&Limit::text, std::string("-")));
    text(csv_name, with(&Limit::metric, std::string()));
    number("limit", with(&Limit::value, sweep::kNotObserved));
    text("unit", with(&Limit::unit, std::string()));
  }
  void axes(auto axes_of) {
    std::vector<std::string> names;
    for (const Row& each : rows)
      for (const auto& [axis, value] : axes_of(each)) add_once(names, axis);
    for (const std::string& axis : names)
      text(axis, [&](const Row& at) -> std::string {
        const sweep::Value* value = sweep::value_on(axes_of(at), axis);
        if (value != nullptr) return value_text(*value);
        return is_csv ? "" : "-";
      });
  }
};

using CapacityColumns = Columns<Capacity>;

/// The mean of what the cells at the seeds' capacities say; NaN before they are known, and where a
/// seed serves no load.
double mean_over(const Capacity& capacity, auto number_of) {
  if (!capacity.search.is_over()) return sweep::kNotObserved;
  std::vector<double> values;
  for (std::size_t seed = 0; seed < capacity.search.seeds.size(); ++seed) {
    const auto load = capacity.search.seeds[seed].most();
    if (!load) return sweep::kNotObserved;
    values.push_back(number_of(capacity.place->cells.at({*load, static_cast<int>(seed)})));
  }
  return mean(observed(values));
}

double mean_of_metric(const Capacity& capacity, const std::string& metric) {
  return mean_over(capacity, [&](const CapacityCell& cell) { return cell.metrics.at(metric); });
}

double tokens_per_s(const Capacity& at) { return mean_of_metric(at, kThroughput); }

double measured_j_per_token(const Capacity& at) {
  return mean_over(at, std::mem_fn(&CapacityCell::measured_j_per_token));
}

/// "agents", "jobs_per_s": in a column's name.
std::string unit_in_name(const CapacityRules& rules) {
  return rules.load == "jps" ? "jobs_per_s" : rules.unit();
}

bool is_least(const CapacityRules& rules, const Capacity& at) {
  return at.has_answer() && at.search.is_cut_off(rules.search) && !at.is_below_least(rules);
}

/// The capacity of the policy over that of fcfs at the same place; NaN without it. No interval
/// where the capacity is at least so much.
Ratio over_fcfs(const CapacityRules& rules, const Capacity& capacity,
                const std::vector<Capacity>& all) {
  const auto others = [&](const Capacity& each) {
    sweep::AxisValues axes = each.place->axes;
    std::erase_if(
        axes, [](const auto& axis) { return axis.first == "policy" || axis.first == "dram_gib"; });
    return rules.place_name(axes);
  };
  for (const Capacity& base : all)
    if (base.slo == capacity.slo && base.place->policy == "fcfs" && &base != &capacity &&
        others(base) == others(capacity) && base.verdict(rules).empty()) {
      Ratio ratio =
          ratio_of(capacity.search.capacities(rules.search), base.search.capacities(rules.search));
      if (is_least(rules, capacity)) ratio.interval = Estimate{}.interval;
      if (is_least(rules, capacity) || capacity.verdict(rules).empty()) return ratio;
    }
  return {};
}

/// "1.305 (0.837 to 2.035)", and over how many pairs of equal seeds where fcfs lacks some.
std::string ratio_text(const CapacityRules& rules, const Capacity& at, const Ratio& ratio) {
  if (std::isnan(ratio.value)) return "-";
  const std::string pairs =
      std::to_string(ratio.repeats) + " of " + std::to_string(at.search.seeds.size()) + " seeds";
  return (is_least(rules, at) ? "at least " : "") + estimate_text(ratio) +
         (ratio.repeats == at.search.seeds.size() ? "" : ", " + pairs);
}

/// The answer, or why there is none, and what stops the next load.
void add_answer(const CapacityRules& rules, CapacityColumns& columns) {
  const std::string unit = unit_in_name(rules);
  const auto ratio = [&](const Capacity& at) { return over_fcfs(rules, at, columns.rows); };
  if (columns.is_csv) {
    columns.numbers("capacity_" + unit,
                    [](const Capacity& at) { return at.has_answer() ? at.load : Estimate{}; });
    columns.text("at_least",
                 [&](const Capacity& at) { return is_least(rules, at) ? "yes" : "no"; });
    columns.text("verdict", [&](const Capacity& at) { return at.verdict(rules); });
    columns.numbers("ratio_to_fcfs", ratio);
    columns.number("pairs_with_fcfs", [&](const Capacity& at) {
      const Ratio of = ratio(at);
      return std::isnan(of.value) ? sweep::kNotObserved : static_cast<double>(of.repeats);
    });
  } else {
    columns.add({"capacity", rules.unit() + " per GPU", false}, [&](const Capacity& at) {
      const std::string verdict = at.verdict(rules);
      return verdict.empty() ? estimate_text(at.load) : verdict;
    });
    columns.text("of fcfs", [&](const Capacity& at) { return ratio_text(rules, at, ratio(at)); });
  }
  columns.number("seeds", "", "seeds",
                 [](const Capacity& at) { return static_cast<double>(at.search.seeds.size()); });
  columns.limit("binds", "binds", &Capacity::binds);
  if (!columns.is_csv) return columns.text("the next step breaks", next_step);
  columns.number("next_" + unit, &Capacity::next);
  columns.number("next_value", &Capacity::value);
  columns.number("seeds_that_miss", &Capacity::misses);
}

/// Adds the cost of a token, as far as prices, measured energies and watts are known.
void add_costs(const CapacityRules& rules, CapacityColumns& columns) {
  const auto watts = [&](const Capacity& at) { return known(rules.watts, at.place->gpu); };
  if (!rules.price_per_hour.empty())
    columns.number("price", "$ per million tokens", "usd_per_million_tok", [&](const Capacity& at) {
      return known(rules.price_per_hour, at.place->gpu) / 3600 / tokens_per_s(at) * 1e6;
    });
  if (std::ranges::any_of(columns.rows,
                          [](const auto& at) { return !std::isnan(measured_j_per_token(at)); }))
    columns.number("energy, measured", "J/token", "measured_j_per_tok", measured_j_per_token);
  if (rules.watts.empty()) return;
  columns.number("energy, by watts", "J/token", "watts_j_per_tok",
                 [&](const Capacity& at) { return watts(at) / tokens_per_s(at); });
  const auto density = [&](const Capacity& at) { return at.load.value / watts(at) * 1e6; };
  if (columns.is_csv) return columns.number(unit_in_name(rules) + "_per_mw", density);
  columns.add({"density", rules.unit() + " per MW"}, [&](const Capacity& at) {
    return (is_least(rules, at) ? "at least " : "") + four_digits(density(at));
  });
}

}  // namespace

std::string next_step(const Capacity& capacity) {
  if (capacity.binds == nullptr) return "-";
  return capacity.binds->with_unit(four_digits(capacity.value)) + " at " +
         four_digits(capacity.next) + " (" + std::to_string(capacity.misses) + " of " +
         std::to_string(capacity.search.seeds.size()) + ")";
}

Grid capacity_grid(const CapacityRules& rules, const std::vector<Capacity>& capacities,
                   GridFormat format) {
  CapacityColumns columns{capacities, format == GridFormat::csv};
  if (rules.slos.size() > 1 || columns.is_csv)
    columns.text(columns.is_csv ? "slo" : "SLO", [](const Capacity& at) { return at.slo->name; });
  columns.axes([](const Capacity& at) -> const auto& { return at.place->axes; });
  add_answer(rules, columns);
  columns.number("interactivity p90", "tok/s", "interactivity_p90_tok_per_s",
                 [](const Capacity& at) { return mean_of_metric(at, kInteractivityP90); });
  columns.number("output", "tok/s per GPU", "output_tok_per_s", tokens_per_s);
  add_costs(rules, columns);
  return std::move(columns.grid);
}

Grid confirm_grid(const CapacityRules& rules, const std::vector<Confirmation>& rows,
                  const std::string& searched, const std::string& confirmed, GridFormat format) {
  Columns<Confirmation> columns{rows, format == GridFormat::csv};
  const auto verdict = [](const Confirmation& at) -> std::string {
    const auto& [low, high] = at.confirmed.interval;
    if (std::isnan(at.confirmed.value)) return "no result";
    if (low < at.limit->value && at.limit->value < high) return "undecided";
    return at.limit->is_met_by(at.confirmed.value) ? "meets" : "misses";
  };
  const auto load = [&](const Confirmation& at) { return rules.search.loads[at.load]; };
  const auto add = [&](const std::string& name, const std::string& kind, auto of) {
    if (!columns.is_csv)
      return columns.add({name, kind},
                         [&](const auto& at) { return estimate_text(std::invoke(of, at)); });
    columns.text(name + "_on", [&](const Confirmation&) { return kind; });
    columns.numbers(name, std::mem_fn(of));
  };
  if (columns.is_csv)
    columns.axes([](const Confirmation& at) -> const auto& { return at.place->axes; });
  else
    columns.text("place", [](const Confirmation& at) { return at.place->name; });
  columns.number("load", rules.unit(), "load_" + unit_in_name(rules), load);
  columns.limit("limit", "metric", &Confirmation::limit);
  add("searched", searched, &Confirmation::searched);
  add("confirmed", confirmed, &Confirmation::confirmed);
  columns.text("there", verdict);
  if (std::ranges::any_of(rows, [](const auto& at) { return !std::isnan(at.j_per_token); }))
    columns.number("energy, measured", "J/token there", "measured_j_per_tok",
                   &Confirmation::j_per_token);
  return std::move(columns.grid);
}

}  // namespace analysis
