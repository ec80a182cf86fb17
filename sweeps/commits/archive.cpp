#include "sweeps/commits/archive.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/files/sha256.hpp"

namespace sweep {

Archive::Archive(std::string path, ArchiveOptions options, std::vector<CellRecord> plan,
                 FileOps& files)
    : path_(resolved(path)),
      folder_(path_ + ".d"),
      options_(std::move(options)),
      files_(files),
      file_(path_, files, options_.warn),
      marks_(path_, files) {
  index_.head = {options_.sweep_name, options_.spec_text, options_.now_utc, options_.tool_version};
  index_.cells = std::move(plan);
  n_planned_ = index_.cells.size();
  for (std::size_t i = 0; i < index_.cells.size(); ++i) {
    index_.cells[i].index = static_cast<int>(i);
    const bool is_new = row_of_.emplace(index_.cells[i].key, static_cast<int>(i)).second;
    if (!is_new) throw ArchiveError("the plan has the cell " + index_.cells[i].key + " twice");
    if (!is_sha256(index_.cells[i].key))
      throw ArchiveError('"' + index_.cells[i].key + "\" is no key, which has 64 hex digits");
  }
  writing(path_, [&] {
    files_.make_folder(folder_);
    lock_.emplace(in_folder("lock"), path_, options_.self, options_.keep_waiting);
    files_.sync_folder(folder_of(path_));
    open(options_.mode);
  });
}

CellRecord& Archive::planned(const std::string& key) {
  const auto found = row_of_.find(key);
  if (found == row_of_.end()) throw ArchiveError("the cell " + key + " is not in the plan");
  return at(found->second);
}

void Archive::describe_run(const std::string& name, const std::string& text) {
  std::erase_if(options_.provenance, [&](const Note& note) { return note.name == name; });
  options_.provenance.push_back({name, text, true});
  if (!description_.empty()) keep_description();
}

void Archive::keep_description() {
  writing(path_, [this] { write_description(); });
}

const CellRecord& Archive::commit(const std::string& key, const std::string& bytes) {
  return *commit({&key, 1}, bytes).front();
}

std::vector<const CellRecord*> Archive::commit(std::span<const std::string> keys,
                                               const std::string& bytes) {
  for (const std::string& key : keys) static_cast<void>(planned(key));  // throws unless it is
  const std::string name = "the result of cell " + keys.front();
  std::vector<CellRecord> outcomes = open_shard(bytes, name).index.cells;
  if (!std::ranges::equal(outcomes, keys, {}, &CellRecord::key))
    throw ArchiveDamaged(name + " is damaged: it holds the cell " + outcomes.front().key);
  for (const CellRecord& outcome : outcomes) {
    const CellRecord& cell = planned(outcome.key);
    if (cell.status == CellStatus::ok && !has_more(outcome, cell))
      throw ArchiveError("the cell " + cell.key + " has a result already");
  }
  const std::string shard = new_shard(keys.front());
  writing(path_, [&] {
    write_description();
    replace_file(files_, shard, bytes);
  });
  shards_.emplace(shard, "");
  pending_size_ += bytes.size();
  std::vector<const CellRecord*> cells;
  for (CellRecord& outcome : outcomes) {
    CellRecord& cell = planned(outcome.key);
    take_outcome(cell, std::move(outcome));
    pending_[cell.index] = shard;
    cells.push_back(&cell);
  }
  try {
    marks_.remove(keys.front());
  } catch (const ArchiveWriteFailed&) {
    // The result is stored; the next start removes the mark.
  }
  return cells;
}

/// A name that no shard has. One of the cell may be there, at a lower level and with other cells.
std::string Archive::new_shard(const std::string& key) const {
  std::string name = in_folder(key + std::string(kShardEnd));
  for (int i = 2; bytes_at(name) > 0; ++i)
    name = in_folder(key + '-' + std::to_string(i) + std::string(kShardEnd));
  return name;
}

/// Removes the shards that no cell needs, and sets the damaged ones aside.
void Archive::drop_shards() {
  for (const auto& [shard, damage] : std::exchange(shards_, {})) {
    if (damage.empty())
      files_.remove(shard);
    else
      set_aside(shard, damage);
  }
}

/// Renames a file to "<file>.damaged".
void Archive::set_aside(const std::string& file, const std::string& why) {
  files_.rename(file, file + ".damaged");
  if (options_.warn) options_.warn(why + "; it is now " + file + ".damaged");
}

bool Archive::merge_if_due() {
  constexpr std::size_t kLeast = 64;
  if (shards_.size() <= std::max(kLeast, merged_)) return false;
  if (shards_.size() <= options_.most_shards && pending_size_ <= options_.most_shard_bytes)
    return false;
  const auto left = std::ranges::count_if(cells(), [this](const CellRecord& cell) {
    return cell.status == CellStatus::planned ||
           (cell.status == CellStatus::ok && !cell.has_result(options_.record));
  });
  // The last few cells do not justify a copy, since finalize() makes one anyway.
  if (static_cast<std::size_t>(left) < kLeast) return false;
  try {
    merge();
  } catch (const ArchiveNoSpace&) {
    return false;  // shards are equally safe, and may still fit when a copy does not
  }
  return true;
}

void Archive::merge(int threads) {
  const std::vector<std::string> described = descriptions();
  if (pending_.empty() && !index_changed_ && described.empty())
    return writing(path_, [&] { drop_shards(); });
  writing(path_, [&] {
    add_descriptions(described);
    replace(threads);
    index_changed_ = false;
    pending_.clear();
    pending_size_ = 0;
    drop_shards();
    for (const std::string& file : described) files_.remove(file);
  });
}

void Archive::check_room() {
  writing(path_, [&] {
    const TemporaryFile before(in_folder("probe")), after(in_folder("probe"));
    files_.write(before.path, "kvsweep tries out whether it can write here\n");
    files_.rename(before.path, after.path);
    files_.remove(after.path);
    // The largest expected shard: four times the mean of earlier cells, or the largest unmerged
    // one; at least 4 MiB, which hold about ten thousand steps.
    constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
    const std::uint64_t size = bytes_at(path_);
    std::uint64_t largest = std::max(kLeast, 4 * size / std::max<std::size_t>(merged_, 4));
    for (const std::string& shard : shard_files(path_))
      largest = std::max(largest, bytes_at(shard));
    files_.require_space(folder_, size + largest);
  });
}

}  // namespace sweep
