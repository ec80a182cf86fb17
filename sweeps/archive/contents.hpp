#pragma once
// The contents of a stored cell, and their digests.
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/files/sha256.hpp"

namespace sweep {

/// The record and tables of one cell. A cell that failed has no rows. In a shard, `record.rows`
/// says which rows of its tables are the cell's.
struct ShardContents {
  CellRecord record;  // figures and notes are filled from `result`
  CellResult result;

  /// In the order of kCellTables.
  std::array<const Table*, kCellTables.size()> tables() const;
  std::array<Table*, kCellTables.size()> tables();
};

/// Columns of a table of kCellTables in this program's schema, without rows.
const Table& described_table(std::string_view name);

/// Leaves the tables of this level, if the result has more. The digest is that of the result
/// before.
void keep_level(ShardContents& cell, RecordLevel level);

/// SHA-256 of the outcome in a record: key, status, reason, and everything in figures, notes and
/// tables that is not volatile. Columns with only NaN, 0 or empty texts do not count, so a table
/// can gain columns without changing its digest.
std::string content_digest(const ShardContents& cell);
/// Gives tables one after the other, by their positions in kCellTables.
using CellTables = std::function<const Table&(std::size_t table)>;
std::string content_digest(const CellRecord& record, const CellTables& table_at);

/// Whether all values are NaN, 0 or empty.
bool holds_nothing(const ColumnData& data);

/// SHA-256 of every column of a table, including volatile ones.
std::string table_digest(const Table& table);

}  // namespace sweep
