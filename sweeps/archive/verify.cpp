#include <future>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/digest.hpp"

namespace sweep {

namespace {

void check_head(const ArchiveIndex& found, const ArchiveIndex& written) {
  const ArchiveHead &a = found.head, &b = written.head;
  const bool same = a.sweep_name == b.sweep_name && a.spec_text == b.spec_text &&
                    a.created_utc == b.created_utc && a.tool_version == b.tool_version &&
                    found.generation == written.generation &&
                    found.provenance.rows() == written.provenance.rows();
  if (!same) throw H5Error("it is not described as it was written");
}

/// Compares by the footer's digest, which the stored /cells has been checked against.
void check_cells(hid_t file, const std::vector<CellRecord>& written) {
  if (stored_cells_digest(file) == table_digest(to_cells_table(written).table)) return;
  throw H5Error("its cells are not those that were written");
}

/// Adds tables to a digest, each while the next one is read if there is a thread for it.
class DigestBeside {
 public:
  DigestBeside(const CellRecord& cell, int threads) : digest_(cell), threads_(threads) {}

  void add(std::size_t position, Table table) {
    constexpr std::size_t kWorthAThread = 1000;  // rows
    wait();
    if (threads_ < 2 || table.rows() < kWorthAThread) return digest_.add(position, table);
    last_ = std::async(std::launch::async, [this, position, table = std::move(table)] {
      digest_.add(position, table);
    });
  }
  std::string hex() {
    wait();
    return digest_.hex();
  }

 private:
  void wait() {
    if (last_.valid()) last_.get();
  }

  ContentDigest digest_;
  int threads_;
  std::future<void> last_;  // waited for when it is destroyed
};

void check_results(hid_t file, const std::vector<CellRecord>& cells, std::span<const int> rows,
                   int threads) {
  Crew crew(threads);
  CellLoader tables(file, Described::by_file, &crew);
  for (const int row : rows) {
    const CellRecord& cell = cells[static_cast<std::size_t>(row)];
    if (!cell.has_run()) continue;
    DigestBeside digest(cell, threads);
    for (std::size_t i = 0; i < kCellTables.size(); ++i)
      digest.add(i, tables.table(i).read(cell.rows[i]));
    if (digest.hex() == cell.digest) continue;
    throw H5Error("the results of " + cell.label + " do not have their digest");
  }
}

}  // namespace

void verify_archive_file(const std::string& path, const ArchiveIndex& written,
                         std::span<const int> cells, int threads) {
  try {
    const OpenArchive archive = open_archive_file(path, CellRows::checked);
    check_head(archive.index, written);
    check_cells(archive.file.get(), written.cells);
    check_rows(archive.file.get(), written.cells);
    check_objects(archive.file.get());
    check_chunk_indices(archive.file.get());
    check_chunks(archive.file.get());
    check_results(archive.file.get(), written.cells, cells, threads);
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ArchiveWriteFailed(
        "the file that was to replace the archive does not hold what was "
        "written to it: " +
        std::string(error.what()));
  }
}

}  // namespace sweep
