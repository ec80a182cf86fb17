#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/text/json_line.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

/// A column as whole numbers: each value is number * scale, or NaN where the number is `nothing`.
struct WholeColumn {
  std::vector<std::int64_t> numbers;
  double scale = 1;
  std::optional<std::int64_t> nothing;
};

/// The column as whole numbers: seconds as nanoseconds. Empty if that would change a value.
std::optional<WholeColumn> whole(const sweep::Column& column);

/// How a column's numbers follow from other columns of the table. Only the remainder is written.
struct Relation {
  std::vector<std::pair<std::string_view, std::int64_t>> sum;  // columns, each times a factor
  std::string_view within;  // or: the difference from the last row with the same number here
};

/// Writes a table: "name":{"rows":n,"columns":{...},"names":{column: [enumerators]}}. A column is
/// one of
///   ["text", ...] | {"texts":["text", ...],"codes":<packed>}   texts, and texts that repeat
///   {"from":n,"rows":n}                                        numbers that count up by one
///   {"same":x,"rows":n}                                        NaN is null
///   {"ints":<packed>,"rows":n,"scale":s,"none":n,"sum":{column: factor},"within":column}
///   {"type":"f64",...}                                         packed_small()
/// with <packed> as written by write_packed(). "scale", "none", "sum" and "within" are left out if
/// they have their default.
class PackedTable {
 public:
  PackedTable(JsonLine& line, std::string_view name, std::size_t rows);

  void add(std::string_view name, std::span<const std::int64_t> values);
  void add(const sweep::Column& column);
  /// Adds a column by the remainder of the relation. `remainder` has the column's scale.
  void add_related(std::string_view name, std::span<const std::int64_t> remainder, double scale,
                   const Relation& relation);

  /// Adds the names of a column's codes.
  void name(std::string_view column, const std::vector<std::string>& names);

  void close();

 private:
  void add_texts(std::string_view name, std::span<const std::string> texts);
  void add_doubles(std::string_view name, std::span<const double> values);
  void add_whole(std::string_view name, const WholeColumn& column);
  void begin_ints(std::string_view name, std::span<const std::int64_t> values, double scale);

  JsonLine& line_;
  std::size_t rows_;
  std::vector<std::pair<std::string_view, const std::vector<std::string>*>> names_;
};

}  // namespace analysis
