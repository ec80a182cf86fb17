#include "sweeps/upkeep/new_archive.hpp"

#include <array>
#include <numeric>
#include <vector>

#include "sweeps/archive/tables.hpp"
#include "sweeps/archive/writing.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

namespace {

void write_archive(const std::string& path, ArchiveIndex& index,
                   const std::function<ShardContents(std::size_t)>& contents_of) {
  for (CellRecord& cell : index.cells) cell.rows = {};
  create_archive_file(path, index);
  H5File file = open_h5_for_writing(path);
  std::array<RowRange, kCellTables.size()> rows;
  {
    CellAppender tables(file.get());
    for (std::size_t i = 0; i < index.cells.size(); ++i)
      tables.append(index.cells[i], contents_of(i));
    rows = tables.finish();
  }
  write_index(file.get(), index, rows);
  file.close_checked("close " + path);
}

}  // namespace

void write_new_archive(const std::string& target, ArchiveIndex index,
                       const std::function<ShardContents(std::size_t)>& contents_of) {
  const std::string temporary = temporary_name(target);
  try {
    write_archive(temporary, index, contents_of);
    std::vector<int> all(index.cells.size());
    std::iota(all.begin(), all.end(), 0);
    verify_archive_file(temporary, index, all);
    FileOps files;
    publish_new(files, temporary, target);
  } catch (const H5Error& error) {
    discard(temporary);
    throw ArchiveWriteFailed("cannot write " + target + ": " + reason_of(error));
  } catch (const FileError& error) {
    discard(temporary);
    throw ArchiveWriteFailed("cannot write " + target + ": " + reason_of(error));
  } catch (...) {
    discard(temporary);
    throw;
  }
}

}  // namespace sweep
