#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/json.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {

enum class ExportFormat { csv, jsonl };

/// Writes tables one after another, e.g. cell by cell, so that only one is in memory at a time. CSV
/// follows RFC 4180 with a header. Enumerations are written by name, numbers as the shortest text
/// that reads back to the same number, texts by csv_text(). NaN is empty in CSV and null in JSON.
/// JSON booleans are true and false.
class RowExporter {
 public:
  /// The columns are those of `schema`, preceded by `cell` if `numbered`. Writes the header.
  RowExporter(const sweep::Table& schema, bool numbered, ExportFormat format, std::ostream& out);

  /// Finds columns by name; columns that `rows` lacks have no values. Throws sweep::TableError when
  /// `rows` has other columns or an enumeration has a value without a name, and std::system_error
  /// when a write fails.
  void write(const sweep::Table& rows, std::int32_t cell = 0);

 private:
  std::vector<std::string> names_;
  bool numbered_;
  ExportFormat format_;
  std::ostream& out_;
};

/// The turns of a cell as the result of another benchmark, by its definitions (docs/capacity.md):
/// of `aiperf profile` (profile_export_aiperf.json), or of `vllm bench serve`.
Json as_aiperf(const ConfiguredCell& cell, const sweep::Table& turns);
Json as_vllm_bench(const ConfiguredCell& cell, const sweep::Table& turns);

}  // namespace analysis
