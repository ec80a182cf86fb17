#include "sweeps/archive.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sweeps/archive_file.hpp"
#include "sweeps/h5.hpp"
#include "sweeps/shard.hpp"

namespace sweep {

namespace {

/// Runs `action`; failures to write become ArchiveWriteFailed.
template <class Action>
void writing(const std::string& archive, Action action) {
  try {
    action();
  } catch (const FileError& error) {
    throw ArchiveWriteFailed(archive + ": " + error.what() + "; what was there is untouched");
  } catch (const H5Error& error) {
    throw ArchiveWriteFailed(archive + ": " + error.what() + "; what was there is untouched");
  }
}

}  // namespace

Archive::Archive(std::string path, ArchiveOptions options, std::vector<CellRecord> plan,
                 FileOps& files)
    : path_(std::move(path)),
      folder_(path_ + ".d"),
      options_(std::move(options)),
      files_(files),
      index_(std::make_unique<ArchiveIndex>()) {
  index_->head = {options_.sweep_name, options_.spec_text, options_.now_utc, options_.tool_version};
  index_->cells = std::move(plan);
  for (std::size_t i = 0; i < index_->cells.size(); ++i) {
    index_->cells[i].index = static_cast<int>(i);
    const bool is_new = row_of_.emplace(index_->cells[i].key, static_cast<int>(i)).second;
    if (!is_new) throw ArchiveError("the plan has the cell " + index_->cells[i].key + " twice");
  }
  writing(path_, [&] {
    files_.make_folder(folder_);
    lock_ = std::make_unique<ArchiveLock>(in_folder("lock"), path_, options_.self,
                                          options_.keep_waiting);
    open_archive(options_.mode);
  });
}

Archive::~Archive() = default;

const std::vector<CellRecord>& Archive::cells() const { return index_->cells; }

CellRecord& Archive::planned(const std::string& key) {
  const auto found = row_of_.find(key);
  if (found == row_of_.end()) throw ArchiveError("the cell " + key + " is not in the plan");
  return index_->cells[static_cast<std::size_t>(found->second)];
}

void Archive::describe_run(const std::string& name, const std::string& text) {
  std::erase_if(options_.provenance, [&](const Note& note) { return note.name == name; });
  options_.provenance.push_back({name, text, true});
  if (!provenance_file_.empty()) keep_description();
}

void Archive::keep_description() {
  writing(path_, [this] { write_provenance(); });
}

const CellRecord& Archive::commit(const std::string& key, const std::string& bytes) {
  CellRecord& cell = planned(key);
  if (cell.status == CellStatus::ok)
    throw ArchiveError("the cell " + key + " has a result already");
  const CellRecord outcome = shard_record(bytes, key, "the result of cell " + key);
  const std::string temporary = in_folder(key + ".tmp");
  try {
    writing(path_, [&] {
      write_provenance();
      files_.write(temporary, bytes);
      publish(files_, temporary, shard_path(key));
    });
  } catch (const ArchiveError&) {
    ::unlink(temporary.c_str());
    throw;
  }
  take_outcome(cell, outcome);
  if (std::find(pending_.begin(), pending_.end(), cell.index) == pending_.end()) {
    pending_.push_back(cell.index);
  }
  remove_mark(key);
  return cell;
}

bool Archive::merge_if_due() {
  constexpr std::size_t kLeast = 64;
  if (pending_.size() <= std::max(kLeast, merged_ / 4)) return false;
  const auto left =
      std::count_if(index_->cells.begin(), index_->cells.end(),
                    [](const CellRecord& cell) { return cell.status == CellStatus::planned; });
  // The last few cells are not worth a copy before the final one.
  if (static_cast<std::size_t>(left) < kLeast) return false;
  merge();
  return true;
}

void Archive::merge() {
  const std::vector<std::string> provenance = provenance_files();
  if (pending_.empty() && !index_changed_ && provenance.empty()) return;
  std::vector<CellRecord> cells = index_->cells;
  writing(path_, [&] {
    for (const std::string& file : provenance) {
      const H5File opened = open_h5(file);
      const Table row = read_packed_table(opened.get(), "provenance");
      std::vector<Note> notes;
      for (const Column& column : row.columns) {
        notes.push_back({column.name, std::get<std::vector<std::string>>(column.data).at(0), true});
      }
      add_provenance(index_->provenance, notes);
    }
    replace_archive([&](const std::string& temporary) {
      files_.copy(path_, temporary);
      append_shards(temporary, cells);
    });
    std::swap(index_->cells, cells);
    index_changed_ = false;
    merged_ += pending_.size();
    for (const int row : std::exchange(pending_, {})) {
      files_.remove(shard_path(index_->cells[static_cast<std::size_t>(row)].key));
    }
    for (const std::string& file : provenance) files_.remove(file);
  });
}

void Archive::finalize() {
  merge();
  if (in_plan_order()) return;
  std::vector<CellRecord> cells = index_->cells;
  writing(path_, [&] {
    replace_archive([&](const std::string& temporary) { rewrite(temporary, cells); });
    std::swap(index_->cells, cells);
  });
}

bool Archive::in_plan_order() const {
  std::array<std::int64_t, kCellTables.size()> next{};
  for (const CellRecord& cell : index_->cells) {
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (cell.rows[i].rows == 0) continue;
      if (cell.rows[i].offset != next[i]) return false;
      next[i] += cell.rows[i].rows;
    }
  }
  return true;
}

}  // namespace sweep
