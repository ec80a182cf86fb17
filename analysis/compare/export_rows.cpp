#include "analysis/compare/export_rows.hpp"

#include <algorithm>
#include <ostream>

#include "analysis/text/text_table.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using sweep::Column;

/// A value of a column; null if there is no column.
struct Source {
  const Column* column;

  Json operator()(std::size_t row) const {
    if (column == nullptr) return nullptr;
    if (std::ranges::equal(column->enum_names, sweep::enum_names(true)))
      return std::get<std::vector<std::int8_t>>(column->data)[row] != 0;
    if (!column->enum_names.empty()) return sweep::name_in(*column, row);
    return std::visit([&](const auto& values) { return Json(values[row]); }, column->data);
  }
};

std::string csv_of(const Json& value) {
  if (value.is_string()) return csv_text(value.get_ref<const std::string&>());
  if (value.is_number_float()) return exact_number(value.get<double>());
  if (value.is_boolean()) return std::string(sweep::enum_names(true)[value.get<bool>() ? 1 : 0]);
  return value.is_null() ? "" : value.dump();
}

}  // namespace

RowExporter::RowExporter(const sweep::Table& schema, bool numbered, ExportFormat format,
                         std::ostream& out)
    : numbered_(numbered), format_(format), out_(out) {
  for (const Column& column : schema.columns) names_.push_back(column.name);
  if (format == ExportFormat::jsonl) return;
  std::string header = numbered ? "cell" : "";
  for (const std::string& name : names_) header += (header.empty() ? "" : ",") + csv_text(name);
  out << header << "\r\n";
  check_written(out);
}

void RowExporter::write(const sweep::Table& rows, std::int32_t cell) {
  std::vector<Source> sources;
  for (const std::string& name : names_)
    sources.push_back({rows.has(name) ? &rows.column(name) : nullptr});
  for (const Column& column : rows.columns)
    if (std::ranges::find(names_, column.name) == names_.end())
      throw sweep::TableError(rows.name + " of a cell has the column " + column.name +
                              ", which other cells lack");
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (format_ == ExportFormat::jsonl) {
      Json line = Json::object();
      if (numbered_) line["cell"] = cell;
      for (std::size_t i = 0; i < names_.size(); ++i) line[names_[i]] = sources[i](row);
      write_line(line, out_);
      continue;
    }
    const char* comma = numbered_ ? "," : "";
    if (numbered_) out_ << cell;
    for (const Source& source : sources) {
      out_ << comma << csv_of(source(row));
      comma = ",";
    }
    out_ << "\r\n";
    check_written(out_);
  }
}

}  // namespace analysis
