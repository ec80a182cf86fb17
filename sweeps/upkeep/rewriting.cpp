#include "sweeps/upkeep/rewriting.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/upkeep.hpp"

namespace sweep {
namespace {

bool is_summary_of(const Note& note) { return note.name == kSummaryOf; }

ShardContents at_level(ArchiveReader& archive, int row, RecordLevel level,
                       const FurtherFigures& further) {
  ShardContents cell = archive.load(row);
  if (cell.record.status != CellStatus::ok || cell.record.level <= level) return cell;
  if (further) std::ranges::move(further(archive, row), std::back_inserter(cell.record.figures));
  keep_level(cell, level);
  cell.record.digest = content_digest(cell);
  return cell;
}

}  // namespace

bool told_alike(const CellRecord& a, const CellRecord& b) {
  return a.level == b.level &&
         std::ranges::any_of(a.notes, is_summary_of) == std::ranges::any_of(b.notes, is_summary_of);
}

void forget_level(CellRecord& cell) {
  cell.level = RecordLevel::all;
  cell.digest.clear();
  std::erase_if(cell.notes, is_summary_of);
}

std::string digest_at(ShardContents cell, RecordLevel level) {
  keep_level(cell, level);
  forget_level(cell.record);
  return content_digest(cell);
}

void write_at_level(const std::string& archive, RecordLevel level, const std::string& target,
                    const FurtherFigures& further) {
  if (path_exists(target)) throw ArchiveError(target + " exists already");
  ArchiveReader whole(archive);
  ArchiveIndex index;
  index.head = {whole.sweep_name(), whole.spec_text(), whole.created_utc(), whole.tool_version()};
  index.provenance = whole.provenance();
  index.cells = whole.cells();
  write_new_archive(target, std::move(index), [&](CellRecord& cell) {
    ShardContents contents = at_level(whole, cell.index, level, further);
    cell = contents.record;
    return contents;
  });
}

void write_new_archive(const std::string& target, ArchiveIndex index,
                       const ContentsOf& contents_of) {
  try {
    writing(target, [&] {
      const TemporaryFile temporary(target);
      std::optional<ShardContents> contents;
      write_archive(temporary.path, index, [&](CellRecord& cell) -> RowsOfCell {
        contents = contents_of(cell);
        if (!contents && cell.has_run()) cell = without_outcome(cell);
        if (!contents) return {};
        for (std::size_t i = 0; i < kCellTables.size(); ++i)
          cell.rows[i] = {0, contents->tables()[i]->rows()};
        return [&](std::size_t table) { return std::move(*contents->tables()[table]); };
      });
      verify_archive_file(temporary.path, index);
      FileOps files;
      publish_new(files, temporary.path, target);
    });
  } catch (const ArchiveNoSpace& error) {
    throw ArchiveWriteFailed(error.what());  // nothing here waits for space
  }
}

}  // namespace sweep
