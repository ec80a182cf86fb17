#include "analysis/trace/relations.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace analysis {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The columns, if all of them are whole numbers without missing values and have the same scale.
std::optional<std::vector<WholeColumn>> wholes(const sweep::Table& table,
                                               std::span<const std::string_view> names) {
  std::vector<WholeColumn> found;
  for (const std::string_view name : names) {
    auto column = whole(table.column(name));
    if (!column || column->nothing || (!found.empty() && column->scale != found.front().scale))
      return std::nullopt;
    found.push_back(std::move(*column));
  }
  return found;
}

/// The row of each event's step: the last one with a number not above the event's, or the first.
std::vector<std::size_t> rows_of(const Numbers& events, const Numbers& steps) {
  std::vector<std::size_t> rows(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto after = std::ranges::upper_bound(steps, events[i]);
    rows[i] = after == steps.begin() ? 0 : static_cast<std::size_t>(after - steps.begin()) - 1;
  }
  return rows;
}

}  // namespace

void add_sum(PackedTable& packed, const sweep::Table& table, std::string_view column,
             std::initializer_list<std::string_view> terms) {
  std::vector<std::string_view> names{column};
  names.insert(names.end(), terms.begin(), terms.end());
  auto columns = wholes(table, names);
  if (!columns) return packed.add(table.column(column));
  Relation relation;
  Numbers& rest = columns->front().numbers;
  for (std::size_t k = 1; k < columns->size(); ++k) {
    const Numbers& term = (*columns)[k].numbers;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= term[i];
    relation.sum.emplace_back(names[k], 1);
  }
  packed.add_related(column, rest, columns->front().scale, relation);
}

void add_multiple(PackedTable& packed, const sweep::Table& table, std::string_view column,
                  std::string_view of) {
  const std::string_view names[] = {column, of};
  auto columns = wholes(table, names);
  if (!columns || table.rows() == 0) return packed.add(table.column(column));
  Numbers& rest = columns->front().numbers;
  const Numbers& base = columns->back().numbers;
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(rest) - rest.begin());
  const std::int64_t factor = base[largest] == 0 ? 0 : rest[largest] / base[largest];
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= factor * base[i];
  packed.add_related(column, rest, 1, {.sum = {{of, factor}}, .within = {}});
}

void add_within(PackedTable& packed, const sweep::Table& table, std::string_view column,
                std::string_view group) {
  const std::string_view names[] = {column, group};
  auto columns = wholes(table, names);
  if (!columns) return packed.add(table.column(column));
  const std::vector<std::string>& texts = table.column(column).enum_names;
  if (!texts.empty()) packed.name(column, texts);
  Numbers& rest = columns->front().numbers;
  const Numbers& groups = columns->back().numbers;
  Numbers last(groups.empty() ? 0 : static_cast<std::size_t>(std::ranges::max(groups)) + 2);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    std::int64_t& before = last[static_cast<std::size_t>(groups[i] + 1)];
    rest[i] -= std::exchange(before, rest[i]);
  }
  packed.add_related(column, rest, 1, {.sum = {}, .within = group});
}

void add_step_times(PackedTable& packed, const sweep::Table& steps) {
  packed.add(steps.column("dur_s"));
  const std::string_view names[] = {"t_s", "dur_s"};
  auto columns = wholes(steps, names);
  if (!columns) return packed.add(steps.column("t_s"));
  Numbers& rest = columns->front().numbers;
  std::int64_t elapsed = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= elapsed;
    elapsed += columns->back().numbers[i];
  }
  packed.add_related("t_s", rest, columns->front().scale, {.sum = {{"elapsed", 1}}, .within = {}});
}

void add_event_times(PackedTable& packed, const sweep::Table& events, const sweep::Table& steps) {
  const std::string_view step_names[] = {"t_s", "dur_s"};
  const auto times = wholes(steps, step_names);
  const auto numbers = whole(steps.column("step"));
  const auto own = whole(events.column("t_s")), step = whole(events.column("step"));
  if (!times || !numbers || !own || own->nothing || !step || steps.rows() == 0)
    return packed.add(events.column("t_s"));
  const std::vector<std::size_t> rows = rows_of(step->numbers, numbers->numbers);
  Numbers ended(rows.size()), rest = own->numbers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t lasted = (*times)[1].numbers[rows[i]];
    rest[i] -= (*times)[0].numbers[rows[i]];
    ended[i] = rest[i] >= lasted;
    if (ended[i] != 0) rest[i] -= lasted;
  }
  packed.add("ended", ended);
  packed.add_related("t_s", rest, own->scale, {.sum = {{"begun", 1}, {"lasted", 1}}, .within = {}});
}

}  // namespace analysis
