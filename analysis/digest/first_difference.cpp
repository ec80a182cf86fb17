#include "analysis/digest/first_difference.hpp"

#include <map>

#include "analysis/digest/digest.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;
using BySteps = std::map<std::int64_t, Texts>;

/// The actions of each step, in a fixed order. `text_of` a row of the table.
BySteps by_step(const sweep::Table& table, auto text_of) {
  BySteps steps;
  for (sweep::TableRow row{table, 0}; row.row < table.rows(); ++row.row)
    steps[row.at<std::int64_t>("step")].push_back(text_of(row));
  for (auto& [at, texts] : steps) std::ranges::sort(texts);
  return steps;
}

/// "evict_gpu job 7 turn 2: "
std::string beginning(const sweep::TableRow& row) {
  const std::int32_t job = row.count("job"), turn = row.count("turn");
  const std::string of_turn = turn < 0 ? "" : " turn " + std::to_string(turn);
  return row.name("kind") + (job < 0 ? "" : " job " + std::to_string(job) + of_turn) + ": ";
}

BySteps scheduled(const sweep::CellResult& result) {
  return by_step(result.sched, [](const sweep::TableRow& row) {
    return beginning(row) + four_digits(row.count("tokens")) + " tokens after " +
           four_digits(row.count("computed_before"));
  });
}

BySteps kv_events(const sweep::CellResult& result) {
  return by_step(result.kv_events, [](const sweep::TableRow& row) {
    return beginning(row) + four_digits(row.count("blocks")) + " blocks (" + row.name("reason") +
           ')';
  });
}

int row_of(const sweep::CellResult& result, std::int64_t step) {
  const auto& steps = result.steps.values<std::int64_t>("step");
  const auto found = std::ranges::lower_bound(steps, step);
  if (found == steps.end() || *found != step) return -1;
  return static_cast<int>(found - steps.begin());
}

const Texts& at(const BySteps& actions, std::int64_t step) {
  static const Texts kNone;
  const auto found = actions.find(step);
  return found == actions.end() ? kNone : found->second;
}

FirstDifference first_apart(const BySteps& in_a, const BySteps& in_b, const sweep::CellResult& a,
                            const sweep::CellResult& b) {
  FirstDifference first;
  for (const BySteps* side : {&in_a, &in_b}) {
    for (const auto& [step, texts] : *side) {
      if (first.step != 0 && step >= first.step) break;
      if (at(in_a, step) != at(in_b, step)) first.step = step;
    }
  }
  if (first.step == 0) return first;
  const Texts &own = at(in_a, first.step), &others = at(in_b, first.step);
  std::ranges::set_difference(own, others, std::back_inserter(first.a.actions));
  std::ranges::set_difference(others, own, std::back_inserter(first.b.actions));
  first.a.row = row_of(a, first.step);
  first.b.row = row_of(b, first.step);
  return first;
}

}  // namespace

FirstDifference first_scheduled_apart(const sweep::CellResult& a, const sweep::CellResult& b) {
  return first_apart(scheduled(a), scheduled(b), a, b);
}

FirstDifference first_kv_apart(const sweep::CellResult& a, const sweep::CellResult& b) {
  return first_apart(kv_events(a), kv_events(b), a, b);
}

std::string at_step(const sweep::CellResult& result, const OwnActions& own,
                    std::string_view column) {
  if (own.row < 0) return "-";
  return four_digits(numbers_of(result.steps, column)[static_cast<std::size_t>(own.row)]);
}

}  // namespace analysis
