#include "analysis/compare/export_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <ostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using sweep::Column;

const std::string& name_of(const Column& column, std::int8_t value) {
  if (value < 0 || static_cast<std::size_t>(value) >= column.enum_names.size()) {
    throw sweep::TableError(column.name + " holds " + std::to_string(value) +
                            ", which has no name");
  }
  return column.enum_names[static_cast<std::size_t>(value)];
}

bool is_boolean(const Column& column) {
  return std::ranges::equal(column.enum_names, sweep::enum_names(true));
}

/// A value as a CSV field.
struct CsvValue {
  const Column& column;
  std::string operator()(const std::string& value) const { return csv_text(value); }
  std::string operator()(double value) const { return exact_number(value); }
  std::string operator()(std::int8_t value) const {
    return column.enum_names.empty() ? std::to_string(value) : csv_text(name_of(column, value));
  }
  template <class Integer>
  std::string operator()(Integer value) const {
    return std::to_string(value);
  }
};

struct AddJson {
  const Column& column;
  JsonLine& line;
  void operator()(const std::string& value) const { line.text(value); }
  void operator()(double value) const { line.number(value); }
  void operator()(std::int8_t value) const {
    if (column.enum_names.empty()) {
      line.integer(value);
    } else if (is_boolean(column)) {
      line.boolean(value != 0);
    } else {
      line.text(name_of(column, value));
    }
  }
  template <class Integer>
  void operator()(Integer value) const {
    line.integer(value);
  }
};

template <class Visitor>
auto visit_value(const Column& column, std::size_t row, const Visitor& visitor) {
  return std::visit([&](const auto& values) { return visitor(values[row]); }, column.data);
}

void write_line(std::ostream& out, const std::string& line) {
  errno = 0;
  out << line;
  check_written(out);
}

}  // namespace

RowExporter::RowExporter(const sweep::Table& schema, bool numbered, ExportFormat format,
                         std::ostream& out)
    : numbered_(numbered), format_(format), out_(out) {
  for (const Column& column : schema.columns) names_.push_back(column.name);
  if (format == ExportFormat::jsonl) return;
  std::string header = numbered ? "cell" : "";
  for (const std::string& name : names_) header += (header.empty() ? "" : ",") + csv_text(name);
  write_line(out, header + "\r\n");
}

std::vector<RowExporter::Source> RowExporter::sources(const sweep::Table& rows) const {
  std::vector<Source> columns;
  for (const std::string& name : names_) {
    columns.push_back(rows.has(name) ? &rows.column(name) : nullptr);
  }
  for (const Column& column : rows.columns) {
    if (std::ranges::find(names_, column.name) != names_.end()) continue;
    throw sweep::TableError(rows.name + " of a cell has the column " + column.name +
                            ", which other cells lack");
  }
  return columns;
}

void RowExporter::write(const sweep::Table& rows, std::int32_t cell) {
  const std::vector<Source> columns = sources(rows);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    format_ == ExportFormat::csv ? write_csv(columns, row, cell) : write_json(columns, row, cell);
  }
}

void RowExporter::write_csv(const std::vector<Source>& columns, std::size_t row,
                            std::int32_t cell) {
  std::string line = numbered_ ? std::to_string(cell) : "";
  const char* comma = numbered_ ? "," : "";
  for (const Source column : columns) {
    line += comma;
    comma = ",";
    if (column != nullptr) line += visit_value(*column, row, CsvValue{*column});
  }
  write_line(out_, line + "\r\n");
}

void RowExporter::write_json(const std::vector<Source>& columns, std::size_t row,
                             std::int32_t cell) {
  line_.open('{');
  if (numbered_) line_.key("cell").integer(cell);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string key;
    append_json_string(key, names_[i]);
    line_.raw_key(key);
    if (columns[i] == nullptr) {
      line_.null();
    } else {
      visit_value(*columns[i], row, AddJson{*columns[i], line_});
    }
  }
  line_.close('}').end_line(out_);
}

}  // namespace analysis
