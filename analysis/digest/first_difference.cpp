#include "analysis/digest/first_difference.hpp"

#include <algorithm>
#include <map>

#include "analysis/digest/digest.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;
using BySteps = std::map<std::int64_t, Texts>;

/// Reads the rows of one table of a cell as actions in words.
class Actions {
 public:
  explicit Actions(const sweep::Table& table) : table_(table) {}

  BySteps scheduled() const {
    const auto& computed = numbers("computed_before");
    return by_step([&, tokens = numbers("tokens")](std::size_t row) {
      return name("kind", row) + request(row) + ": " + four_digits(tokens[row]) + " tokens after " +
             four_digits(computed[row]);
    });
  }

  BySteps kv_events() const {
    return by_step([&, blocks = numbers("blocks")](std::size_t row) {
      return name("kind", row) + request(row) + ": " + four_digits(blocks[row]) + " blocks (" +
             name("reason", row) + ')';
    });
  }

 private:
  std::vector<double> numbers(std::string_view column) const { return numbers_of(table_, column); }

  std::string name(std::string_view column, std::size_t row) const {
    const auto& names = table_.column(column).enum_names;
    return names.at(static_cast<std::size_t>(table_.values<std::int8_t>(column)[row]));
  }

  std::string request(std::size_t row) const {
    const auto job = table_.values<std::int32_t>("job")[row],
               turn = table_.values<std::int32_t>("turn")[row];
    if (job < 0) return "";
    return " job " + std::to_string(job) + (turn < 0 ? "" : " turn " + std::to_string(turn));
  }

  /// In each step the actions are in a fixed order.
  template <class TextOf>
  BySteps by_step(TextOf text_of) const {
    BySteps steps;
    const auto& step = table_.values<std::int64_t>("step");
    for (std::size_t row = 0; row < step.size(); ++row) steps[step[row]].push_back(text_of(row));
    for (auto& [at, texts] : steps) std::ranges::sort(texts);
    return steps;
  }

  const sweep::Table& table_;
};

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
  return first_apart(Actions(a.sched).scheduled(), Actions(b.sched).scheduled(), a, b);
}

FirstDifference first_kv_apart(const sweep::CellResult& a, const sweep::CellResult& b) {
  return first_apart(Actions(a.kv_events).kv_events(), Actions(b.kv_events).kv_events(), a, b);
}

std::string at_step(const sweep::CellResult& result, const OwnActions& own,
                    std::string_view column) {
  if (own.row < 0) return "-";
  return four_digits(numbers_of(result.steps, column)[static_cast<std::size_t>(own.row)]);
}

}  // namespace analysis
