#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/json_line.hpp"
#include "sweeps/schema.hpp"

namespace analysis {

enum class ExportFormat { csv, jsonl };

/// Writes the rows of one table after another, e.g. cell by cell, so that one of them at a time is
/// in memory. CSV follows RFC 4180 with a header; enumerations are written as their names, numbers
/// as the shortest text that reads back to the same number, texts as csv_text() has them. NaN is
/// empty in CSV and null in JSON, where booleans are true and false.
class RowExporter {
 public:
  /// The columns are those of `schema`, behind one named `cell` if `numbered`. Writes the header.
  RowExporter(const sweep::Table& schema, bool numbered, ExportFormat format, std::ostream& out);

  /// Columns are found by name, and those that `rows` lacks have no values. Throws
  /// sweep::TableError when it has others or an enumeration has a value without a name, and
  /// std::system_error when the stream refuses a line.
  void write(const sweep::Table& rows, std::int32_t cell = 0);

 private:
  using Source = const sweep::Column*;  // null: the table lacks it
  std::vector<Source> sources(const sweep::Table& rows) const;
  void write_csv(const std::vector<Source>& columns, std::size_t row, std::int32_t cell);
  void write_json(const std::vector<Source>& columns, std::size_t row, std::int32_t cell);

  std::vector<std::string> names_;
  bool numbered_;
  ExportFormat format_;
  std::ostream& out_;
  JsonLine line_;
};

}  // namespace analysis
