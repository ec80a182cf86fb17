#pragma once
#include <utility>
#include <vector>

#include "sweeps/tables/schema.hpp"

namespace worker {

/// Collects rows while a cell runs. A long cell has millions of them, and would hold them twice
/// were they all converted to columns at its end: they become columns some at a time, while a
/// core's cache still has them.
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
  static constexpr std::size_t kRowsAtOnce = 256;

  void convert() {
    sweep::append_rows<Row>(rows_, table_);
    rows_.clear();
  }

  std::vector<Row> rows_;
  sweep::Table table_ = sweep::to_table<Row>({});
};

}  // namespace worker
