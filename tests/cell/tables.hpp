#pragma once
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "tests/support/same_results.hpp"

namespace support {

/// Times in tables are whole nanoseconds.
inline constexpr double kNanosecond = 1e-9;

inline const std::vector<double>& reals(const sweep::Table& table, const std::string& column) {
  return table.values<double>(column);
}
inline const std::vector<std::int32_t>& ints(const sweep::Table& table, const std::string& column) {
  return table.values<std::int32_t>(column);
}
inline const std::vector<std::int64_t>& longs(const sweep::Table& table,
                                              const std::string& column) {
  return table.values<std::int64_t>(column);
}

template <class T>
double sum(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

inline double figure(const sweep::CellResult& result, const std::string& name) {
  const sweep::Figure* found = sweep::find_named(result.figures, name);
  return found == nullptr ? sweep::kNotObserved : found->value;
}

/// Rows of /turns by job and turn: they stand in the order of their ends.
inline std::map<std::pair<int, int>, std::size_t> turn_rows(const sweep::CellResult& result) {
  const auto& jobs = ints(result.turns, "job");
  const auto& turns = ints(result.turns, "turn");
  std::map<std::pair<int, int>, std::size_t> rows;
  for (std::size_t row = 0; row < jobs.size(); ++row) rows[{jobs[row], turns[row]}] = row;
  return rows;
}

/// A column of /turns in the order of jobs and their turns.
template <class T>
std::vector<T> by_turn(const sweep::CellResult& result, const std::string& column) {
  std::vector<T> values;
  for (const auto& [turn, row] : turn_rows(result))
    values.push_back(result.turns.values<T>(column)[row]);
  return values;
}

/// The names of the tables in which two results differ.
inline std::string differing_tables(const sweep::CellResult& a, const sweep::CellResult& b) {
  std::string names;
  for (std::size_t i = 0; i < a.tables().size(); ++i)
    if (!same_results(*a.tables()[i], *b.tables()[i])) names += a.tables()[i]->name + ' ';
  return names;
}

}  // namespace support
