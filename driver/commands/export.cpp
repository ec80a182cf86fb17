#include <unistd.h>

#include <algorithm>

#include "analysis/compare/export_rows.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/upkeep/upkeep.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;
using analysis::ExportFormat;

ExportFormat format_of(const Options& options) {
  const std::string format = options.format.value_or("csv");
  if (format == "csv") return ExportFormat::csv;
  if (format == "jsonl") return ExportFormat::jsonl;
  throw UsageError("--format of export must be csv, jsonl, aiperf or vllm-bench, found \"" +
                   format + '"');
}

std::string table_of(const Options& options) {
  const std::string known = "cells, " + sweep::joined(sweep::kCellTables);
  if (!options.table) throw UsageError("export needs --table, one of " + known);
  if (*options.table == "cells" ||
      std::ranges::find(sweep::kCellTables, *options.table) != sweep::kCellTables.end())
    return *options.table;
  throw UsageError("--table must be one of " + known + ", found \"" + *options.table + '"');
}

/// Escapes control characters, for output to a terminal; files get the texts unchanged.
void make_printable(sweep::Table& table) {
  for (sweep::Column& column : table.columns) {
    if (auto* texts = std::get_if<std::vector<std::string>>(&column.data))
      for (std::string& text : *texts) text = analysis::terminal_text(text);
  }
}

void export_cells(const std::vector<ConfiguredCell>& cells, bool to_terminal, ExportFormat format,
                  std::ostream& out) {
  std::vector<sweep::CellRecord> records;
  for (const ConfiguredCell& cell : cells) records.push_back(*cell.record);
  sweep::Table table = sweep::to_cells_table(records);
  if (to_terminal) make_printable(table);
  analysis::RowExporter(table, false, format, out).write(table);
}

/// One cell's rows are in memory at a time.
void export_rows(sweep::ArchiveReader& reader, const std::vector<int>& rows,
                 const std::string& name, bool to_terminal, ExportFormat format,
                 std::ostream& out) {
  std::optional<analysis::RowExporter> exporter;
  for (const int row : rows) {
    sweep::Table table = reader.load_table(row, name);
    if (to_terminal) make_printable(table);
    if (!exporter) exporter.emplace(table, true, format, out);
    exporter->write(table, row);
  }
}

/// The cells with a result as another benchmark would write them, a line of JSON each.
int export_bench(const Options& options,
                 analysis::Json (*as_bench)(const ConfiguredCell&, const sweep::Table&)) {
  if (options.table)
    throw UsageError("--format " + *options.format + " is of the turns: leave --table out");
  sweep::ArchiveReader reader = open_archive(options.arguments.front());
  const std::vector<sweep::CellRecord> records = reader.cells();
  std::vector<ConfiguredCell> cells = finished_cells(records, options);
  std::erase_if(cells, [](const ConfiguredCell& cell) { return cell.record->kept; });
  for (const ConfiguredCell& cell : cells) require_table(*cell.record, "turns");
  if (cells.empty()) throw UsageError(options.arguments.front() + ": no such cell has a result");
  write_output(options, [&](std::ostream& out) {
    for (const ConfiguredCell& cell : cells)
      analysis::write_line(as_bench(cell, reader.load_table(cell.record->index, "turns")), out);
  });
  return kOk;
}

int export_archive(const Options& options) {
  if (options.table || options.format || !options.only.empty() || !options.skip.empty())
    throw UsageError(
        "--to-archive writes all cells of an archive, without --table, --format, --only or --skip");
  if (!options.output) throw UsageError("--to-archive needs -o B.h5, the archive to write");
  if (std::filesystem::exists(std::filesystem::symlink_status(*options.output)))
    throw UsageError(options.output->string() + " exists already");
  sweep::FurtherFigures further;
  if (*options.to_archive < sweep::RecordLevel::jobs)
    // Figures that a summary would lose of a cell that an earlier program ran.
    further = [](sweep::ArchiveReader& archive, int row) {
      ConfiguredCell cell(archive.cells()[static_cast<std::size_t>(row)]);
      derive_figures(cell, archive, row);
      return cell.derived;
    };
  using_files([&] {
    sweep::write_at_level(options.arguments.front(), *options.to_archive, options.output->string(),
                          further);
  });
  return kOk;
}

}  // namespace

int export_table(const Options& options) {
  if (options.to_archive) return export_archive(options);
  if (options.format == "aiperf") return export_bench(options, analysis::as_aiperf);
  if (options.format == "vllm-bench") return export_bench(options, analysis::as_vllm_bench);
  const std::string table = table_of(options);
  const ExportFormat format = format_of(options);
  sweep::ArchiveReader reader = open_archive(options.arguments.front());
  const std::vector<ConfiguredCell> cells = selected_cells(reader.cells(), options);
  const bool to_terminal = !options.output && isatty(STDOUT_FILENO) != 0;
  write_output(options, [&](std::ostream& out) {
    if (table == "cells") return export_cells(cells, to_terminal, format, out);
    std::vector<int> rows;  // reading may replace the reader's cells
    for (const ConfiguredCell& cell : cells) {
      require_table(*cell.record, table);
      rows.push_back(cell.record->index);
    }
    export_rows(reader, rows, table, to_terminal, format, out);
  });
  return kOk;
}

}  // namespace driver
