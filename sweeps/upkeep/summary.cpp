#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/check.hpp"
#include "sweeps/upkeep/new_archive.hpp"

namespace sweep {

namespace {

void clear(Table& table) {
  for (Column& column : table.columns)
    std::visit([](auto& values) { values.clear(); }, column.data);
}

constexpr std::string_view kSummaryOf = "summary_of";

/// Leaves the rows of jobs and turns, and says which result they are of.
ShardContents without_steps(ShardContents cell) {
  if (!cell.record.has_run()) return cell;
  if (std::ranges::find(cell.record.notes, kSummaryOf, &Note::name) != cell.record.notes.end())
    return cell;
  const std::array<Table*, kCellTables.size()> tables = cell.tables();
  for (std::size_t i = 0; i < tables.size(); ++i)
    if (kCellTables[i] != "jobs" && kCellTables[i] != "turns") clear(*tables[i]);
  cell.record.notes.push_back({std::string(kSummaryOf), cell.record.digest});
  cell.record.digest = content_digest(cell.record, std::as_const(cell).tables());
  return cell;
}

}  // namespace

void write_summary(const std::string& archive, const std::string& target) {
  if (::access(target.c_str(), F_OK) == 0) throw ArchiveError(target + " exists already");
  ArchiveReader whole(archive);
  ArchiveIndex index;
  index.head = {whole.sweep_name(), whole.spec_text(), whole.created_utc(), whole.tool_version()};
  index.provenance = whole.provenance();
  const std::size_t cells = whole.cells().size();
  for (std::size_t i = 0; i < cells; ++i)
    index.cells.push_back(without_steps(whole.load(static_cast<int>(i))).record);
  write_new_archive(target, std::move(index),
                    [&](std::size_t i) { return without_steps(whole.load(static_cast<int>(i))); });
}

}  // namespace sweep
