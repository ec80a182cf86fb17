#include "sweeps/archive_format.hpp"

#include "sweeps/archive_errors.hpp"

namespace sweep {

void check_schema(std::int64_t major, const std::string& path) {
  if (major <= kSchemaMajor) return;
  throw ArchiveIncompatible(path + " has schema " + std::to_string(major) +
                            ", and this program reads schemas up to " +
                            std::to_string(kSchemaMajor) + "; a newer kvsweep wrote it");
}

Table footer_table(const std::array<RowRange, kCellTables.size()>& rows) {
  std::vector<std::string> tables(kCellTables.begin(), kCellTables.end());
  std::vector<std::int64_t> counts;
  for (const RowRange& range : rows) counts.push_back(range.rows);
  return {"footer",
          {{"table", "", "name of a table", false, {}, std::move(tables)},
           {"rows", "", "rows of the table", false, {}, std::move(counts)}}};
}

std::string to_text(const LockHolder& holder) {
  std::string text = "process " + std::to_string(holder.pid) + " on host " + holder.host;
  if (!holder.slurm_job.empty()) text += " (SLURM job " + holder.slurm_job + ")";
  return text;
}

ArchiveInUse::ArchiveInUse(const std::string& path, LockHolder by)
    : ArchiveError(path + " is in use by " + to_text(by)), holder(std::move(by)) {}

}  // namespace sweep
