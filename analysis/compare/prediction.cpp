#include "analysis/compare/prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

constexpr std::size_t kFewestRanked = 4;

/// The contenders at one place, measured and simulated, in one order.
struct Place {
  std::string name;
  std::vector<Contender> measured, simulated;
};

std::string place_of(const ConfiguredCell& cell) {
  std::string name;
  for (const auto& [axis, value] : cell.record->axes)
    if (axis != "policy" && axis != "dram_gib")
      name += (name.empty() ? "" : " ") + axis + '=' + shown(value);
  return name;
}

template <class Items>
auto& found_or_added(Items& items, const auto& is_it, auto added) {
  const auto found = std::ranges::find_if(items, is_it);
  return found != items.end() ? *found : items.emplace_back(std::move(added));
}

std::vector<Place> places_of(std::span<const PredictedCell> cells, const std::string& figure) {
  std::vector<Place> places;
  for (const auto& [measured, simulated] : cells) {
    if (simulated == nullptr) continue;
    const double is = measured->figure(figure), said = simulated->figure(figure);
    if (std::isnan(is) || std::isnan(said)) continue;
    const std::string name = place_of(*measured);
    Place& place = found_or_added(
        places, [&](const Place& each) { return each.name == name; }, Place{name, {}, {}});
    const std::string policy = shown(measured->value("policy"));
    const std::string dram = shown(measured->value("dram_gib"));
    const auto same = [&](const Contender& each) {
      return each.name == policy && each.dram == dram;
    };
    const Contender fresh{policy, dram, {}};
    found_or_added(place.measured, same, fresh).values[measured->record->seed] = is;
    found_or_added(place.simulated, same, fresh).values[measured->record->seed] = said;
  }
  return places;
}

Agreement agreement_of(const Place& place, const Decision& real, const Decision& said) {
  const Contender &best = place.measured[real.best], &chosen = place.measured[said.best];
  Agreement result;
  result.place = place.name + (real.dram == "-" ? "" : " dram_gib=" + real.dram);
  result.best = best.name;
  result.chosen = chosen.name;
  result.chosen_is = real.standings[said.best];
  const Ratio cost = ratio_of(chosen.values, best.values);
  result.is_noise_known = cost.repeats >= kFewestRepeats;
  result.regret = std::abs(cost.value - 1);
  std::vector<double> measured, simulated;
  for (std::size_t i = 0; i < real.standings.size(); ++i) {
    if (real.standings[i] == Standing::absent) continue;
    measured.push_back(mean_of(place.measured[i].values).value);
    simulated.push_back(mean_of(place.simulated[i].values).value);
  }
  result.policies = measured.size();
  if (result.policies >= kFewestRanked) result.tau_b = tau_b(measured, simulated);
  return result;
}

std::string standing_in_words(const Agreement& each) {
  switch (each.chosen_is) {
    case Standing::absent:
      return "-";
    case Standing::best:
      return "best";
    case Standing::tied:
      return "tie";
    case Standing::undecided:
      return "not told apart";
    case Standing::behind:
      break;
  }
  return each.is_noise_known ? "behind" : "behind, noise not known";
}

/// Whether the simulated cell has the same values on all axes of the measured cell.
bool same_question(const ConfiguredCell& measured, const ConfiguredCell& simulated) {
  const auto& axes = measured.record->axes;
  const auto agrees = [&](const auto& axis) {
    // A server's profile takes the place of a policy; in a sweep of its simulated twin it is an
    // axis.
    const sweep::Value* profile = sweep::value_on(simulated.record->axes, "server.profile");
    if (axis.first == "policy" && profile != nullptr)
      return sweep::same_value(*profile, axis.second);
    return simulated.value(axis.first) == measured.value(axis.first);
  };
  return measured.record->seed == simulated.record->seed &&
         measured.value("engine.emulate") == simulated.value("engine.emulate") &&
         std::all_of(axes.begin(), axes.end(), agrees);
}

std::string percent(double ratio) {
  if (std::isnan(ratio)) return "-";
  return four_digits(std::round(ratio * 1000) / 10);
}

/// The mean of the errors' sizes, of the cells that have both figures.
std::string mean_distance(const std::vector<PredictedCell>& cells, const std::string& figure) {
  std::vector<double> off;
  for (const auto& [measured, simulated] : cells) {
    if (simulated == nullptr) continue;
    const double error = simulated->figure(figure) / measured->figure(figure) - 1;
    if (std::isfinite(error)) off.push_back(std::abs(error));
  }
  return off.empty() ? "-" : percent(mean(off)) + " %";
}

/// The figures by which a simulator is judged.
constexpr std::array kJudged = {"jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s",
                                "ttft_p99_s",      "tpot_mean_s",    "prefix_hit_rate",
                                "host_hit_rate",   "preemptions"};
constexpr std::array kAveraged = {"jct_wall_mean_s", "ttft_mean_s", "tpot_mean_s",
                                  "prefix_hit_rate"};

/// By how much this figure varies between measured cells that differ from this one at most in their
/// seed, largest less smallest; NaN of a cell that has no such fellow.
double spread_of(const ConfiguredCell& cell, const std::vector<PredictedCell>& cells,
                 const std::string& figure) {
  double least = cell.figure(figure), most = least;
  int fellows = 0;
  for (const PredictedCell& each : cells) {
    const double value = each.measured->figure(figure);
    if (each.measured->record->axes != cell.record->axes || !std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    ++fellows;
  }
  return fellows > 1 ? most - least : std::nan("");
}

/// Shares differ by points, counts by their number.
std::string difference_text(const std::string& figure, double difference, double measured) {
  if (std::isnan(difference)) return "-";
  if (figure.ends_with("_rate")) return percent(difference) + " points";
  return figure == "preemptions" ? four_digits(difference) : percent(difference / measured) + " %";
}

}  // namespace

double tau_b(std::span<const double> a, std::span<const double> b) {
  const auto sign = [](double x, double y) { return (x > y) - (x < y); };
  double agree = 0, apart_a = 0, apart_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int in_a = sign(a[i], a[j]), in_b = sign(b[i], b[j]);
      agree += in_a * in_b;
      apart_a += in_a != 0;
      apart_b += in_b != 0;
    }
  const double scale = std::sqrt(apart_a * apart_b);
  return scale > 0 ? agree / scale : sweep::kNotObserved;
}

std::vector<Agreement> agreements(std::span<const PredictedCell> cells, const std::string& figure) {
  std::vector<Agreement> all;
  const Direction direction = direction_of(figure);
  for (const Place& place : places_of(cells, figure)) {
    const std::vector<Decision> real = decide(place.measured, direction);
    const std::vector<Decision> said = decide(place.simulated, direction);
    for (std::size_t i = 0; i < std::min(real.size(), said.size()); ++i)
      if (!real[i].rivals.empty()) all.push_back(agreement_of(place, real[i], said[i]));
  }
  return all;
}

void print_agreements(std::span<const Agreement> all, std::ostream& out) {
  if (all.empty()) return;
  TextTable table;
  for (const char* name : {"where", "measured best", "simulator's choice", "which is"})
    table.add_column(name, "", TextTable::Align::left);
  table.add_column("regret", "%", TextTable::Align::right);
  table.add_column("tau-b", "", TextTable::Align::right);
  table.add_column("policies", "", TextTable::Align::right);
  int right = 0, wrong = 0;
  double worst = 0, sum = 0;
  for (const Agreement& each : all) {
    const bool behind = each.chosen_is == Standing::behind;
    right += !behind;
    wrong += behind && each.is_noise_known;
    sum += each.regret;
    worst = std::max(worst, each.regret);
    table.add_row({each.place, each.best, each.chosen, standing_in_words(each),
                   four_digits(std::round(each.regret * 1000) / 10), four_digits(each.tau_b),
                   std::to_string(each.policies)});
  }
  out << "\nWhat choosing by the simulator would have cost; tau-b from four policies up\n\n";
  table.print(out);
  const auto percent = [](double share) { return four_digits(std::round(share * 1000) / 10); };
  out << "\nthe simulator's choice is the measured best, or not told apart from it, at " << right
      << " of " << all.size() << " places, and behind it beyond noise at " << wrong
      << "; regret: mean " << percent(sum / static_cast<double>(all.size())) << " %, worst "
      << percent(worst) << " %\n";
}

std::vector<PredictedCell> predicted_cells(const std::vector<ConfiguredCell>& measured,
                                           const std::vector<ConfiguredCell>& simulated) {
  std::vector<PredictedCell> cells;
  for (const ConfiguredCell& real : measured) {
    const auto found = std::ranges::find_if(simulated, [&](const ConfiguredCell& cell) {
      return cell.record->status == sweep::CellStatus::ok && same_question(real, cell);
    });
    cells.push_back({&real, found == simulated.end() ? nullptr : &*found});
  }
  return cells;
}

void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out) {
  std::vector<std::string> figures = {known_metric(measured, metric)};
  for (const std::string figure : kJudged)
    if (figure != figures.front()) figures.push_back(figure);
  const std::vector<PredictedCell> cells = predicted_cells(measured, simulated);
  TextTable table;
  for (const char* name : {"cell", "figure"}) table.add_column(name, "", TextTable::Align::left);
  for (const char* name : {"MEASURED", "MODELLED", "off by", "seeds differ by"})
    table.add_column(name, "", TextTable::Align::right);
  std::size_t modelled = 0;
  for (const auto& [real, said] : cells) {
    modelled += said != nullptr;
    for (const std::string& figure : figures) {
      const double is = real->figure(figure),
                   predicted = said ? said->figure(figure) : std::nan("");
      const bool is_first = figure == figures.front();
      if (!is_first && (!std::isfinite(is) || !std::isfinite(predicted))) continue;
      table.add_row({real->record->label, figure, four_digits(is),
                     said ? four_digits(predicted) : "not modelled",
                     difference_text(figure, predicted - is, is),
                     difference_text(figure, spread_of(*real, cells, figure), is)});
    }
  }
  out << "\nAs it was and as the simulator says it with its cost model\n\n";
  table.print(out);
  out << "\nmean distance over " << modelled << " cells";
  const char* separator = ": ";
  for (const std::string& figure : figures) {
    if (std::ranges::find(kAveraged, figure) == kAveraged.end() && figure != figures.front())
      continue;
    out << separator << terminal_text(figure) << ' ' << mean_distance(cells, figure);
    separator = ", ";
  }
  out << '\n';
  print_agreements(agreements(cells, figures.front()), out);
}

}  // namespace analysis
