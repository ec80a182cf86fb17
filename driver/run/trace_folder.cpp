#include "driver/run/trace_folder.hpp"

#include "driver/command_line/options.hpp"

#include <cstdio>

#include "analysis/text/new_file.hpp"
#include "analysis/trace/jsonl.hpp"
#include "driver/run/setup.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {
namespace {

std::string file_prefix(int cell) {
  char name[32];
  std::snprintf(name, sizeof name, "cell-%03d", cell);
  return name;
}

}  // namespace

void write_trace_folder(const std::filesystem::path& folder, const Plan& plan,
                        const std::string& archive) {
  std::filesystem::create_directories(folder);
  sweep::ArchiveReader reader(archive);
  std::vector<analysis::CellReport> reports;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& planned = plan.cells[i];
    if (!planned.selected) continue;
    const sweep::CellRecord& record = reader.cells().at(i);
    reports.push_back(report_of(planned, record));
    if (record.status != sweep::CellStatus::ok) continue;
    analysis::write_trace(reader.load(record.index).result,
                          folder / file_prefix(planned.cell.index));
  }
  analysis::NewFile cells(folder / "cells.jsonl");
  cells.fill([&](std::ostream& out) { analysis::write_cells_jsonl(reports, out); });
  cells.commit();
}

void make_trace_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw UsageError("--jsonl " + folder.string() + ": cannot make this folder" +
                     (error ? ": " + error.message() : ""));
  }
}

}  // namespace driver
