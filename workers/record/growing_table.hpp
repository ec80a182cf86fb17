#pragma once
#include <utility>
#include <vector>

#include "sweeps/tables/schema.hpp"

namespace worker {

/// Adds the rows of a table with the same columns.
void append(sweep::Table& to, const sweep::Table& rows);

/// Collects rows while a cell runs. A long cell has millions of them, and would hold them twice
/// were they all converted to columns at its end: they become columns some at a time.
template <class Row>
class GrowingTable {
 public:
  void add(Row row) {
    rows_.push_back(std::move(row));
    if (rows_.size() == kRowsAtOnce) convert();
  }

  sweep::Table take() && {
    convert();
    return std::move(table_);
  }

 private:
  static constexpr std::size_t kRowsAtOnce = 1 << 14;

  void convert() {
    append(table_, sweep::to_table<Row>(rows_));
    rows_.clear();
  }

  std::vector<Row> rows_;
  sweep::Table table_ = sweep::to_table<Row>({});
};

}  // namespace worker
