#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/rewriting.hpp"
#include "sweeps/upkeep/upkeep.hpp"

namespace sweep {

namespace {

/// A cell of one of the two archives.
struct Origin {
  ArchiveReader* archive;
  int row;
  const CellRecord& cell() const { return archive->cells()[static_cast<std::size_t>(row)]; }
};

/// Larger for the outcome that is kept. The elements after the first three break ties, so that the
/// order of the archives does not matter.
auto worth(const CellRecord& cell) {
  return std::tuple(cell.status == CellStatus::ok, cell.has_run(), cell.level, cell.run.attempts,
                    cell.run.t_end_utc, cell.run.host, cell.run.rank, cell.digest, cell.status,
                    cell.reason);
}

/// Whether both have the same rows in the tables that both have.
bool same_result(const Origin& a, const Origin& b) {
  const CellRecord &x = a.cell(), &y = b.cell();
  if (x.digest == y.digest) return true;
  const RecordLevel common = std::min(x.level, y.level);
  return !told_alike(x, y) &&
         digest_at(a.archive->load(a.row), common) == digest_at(b.archive->load(b.row), common);
}

Origin better(const Origin& a, const Origin& b) {
  const CellRecord &x = a.cell(), &y = b.cell();
  const bool both = x.status == CellStatus::ok && y.status == CellStatus::ok;
  if (both && !same_result(a, b)) {
    throw ArchiveError("the archives have different results of " + x.label + " (cell " + x.key +
                       ")");
  }
  return worth(x) < worth(y) ? b : a;
}

std::vector<Origin> chosen(ArchiveReader& a, ArchiveReader& b) {
  std::map<std::string, Origin> by_key;
  for (ArchiveReader* archive : {&a, &b}) {
    for (const CellRecord& cell : archive->cells()) {
      const Origin origin{archive, cell.index};
      const auto [place, is_new] = by_key.emplace(cell.key, origin);
      if (!is_new) place->second = better(place->second, origin);
    }
  }
  std::vector<Origin> origins;
  for (const auto& [key, origin] : by_key) origins.push_back(origin);
  std::stable_sort(origins.begin(), origins.end(), [](const Origin& x, const Origin& y) {
    return std::tie(x.cell().index, x.cell().key) < std::tie(y.cell().index, y.cell().key);
  });
  return origins;
}

/// Both archives' rows, each once, in an order that does not depend on which is first.
Table joined_provenance(const Table& a, const Table& b) {
  std::set<std::map<std::string, std::string>> rows;  // texts by column
  for (const Table* table : {&a, &b}) {
    for (std::size_t i = 0; i < table->rows(); ++i) {
      std::map<std::string, std::string> row;
      for (const Column& column : table->columns)
        row[column.name] = table->values<std::string>(column.name)[i];
      std::erase_if(row, [](const auto& field) { return field.second.empty(); });
      rows.insert(std::move(row));
    }
  }
  Table joined{"provenance", {}};
  for (const auto& row : rows) {
    std::vector<Note> notes;
    for (const auto& [name, text] : row) notes.push_back({name, text, true});
    add_provenance(joined, notes);
  }
  std::ranges::sort(joined.columns, {}, &Column::name);
  return joined;
}

void check_mergeable(const ArchiveReader& a, const ArchiveReader& b) {
  if (a.sweep_name() != b.sweep_name()) {
    throw ArchiveIncompatible("the archives hold different sweeps: \"" + a.sweep_name() +
                              "\" and \"" + b.sweep_name() + "\"");
  }
  if (a.spec_text() != b.spec_text()) {
    throw ArchiveIncompatible("the archives come from different texts of the sweep \"" +
                              a.sweep_name() + "\"");
  }
}

}  // namespace

void merge_archives(const std::string& a, const std::string& b, const std::string& target) {
  if (path_exists(target)) throw ArchiveError(target + " exists already");
  ArchiveReader left(a), right(b);
  for (const std::string& each : {a, b})
    open_archive_file(each).check();  // also what no cell needs
  check_mergeable(left, right);
  const std::vector<Origin> origins = chosen(left, right);
  ArchiveIndex index;
  index.head = {left.sweep_name(), left.spec_text(),
                std::min(left.created_utc(), right.created_utc()),
                std::max(left.tool_version(), right.tool_version())};
  index.provenance = joined_provenance(left.provenance(), right.provenance());
  for (const Origin& origin : origins) {
    index.cells.push_back(origin.cell());
    index.cells.back().index = static_cast<int>(index.cells.size()) - 1;
  }
  write_new_archive(target, std::move(index), [&](const CellRecord& cell) {
    const Origin& origin = origins[static_cast<std::size_t>(cell.index)];
    return origin.archive->load(origin.row);
  });
}

}  // namespace sweep
