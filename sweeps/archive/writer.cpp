#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "sweeps/archive/file.hpp"
#include "sweeps/hdf5/h5_table.hpp"
#include "sweeps/process/parallel.hpp"

namespace sweep {

namespace {

constexpr std::size_t kFlushRows = 2 * kChunkRows;

Column cell_column() {
  return {"cell", "", "row of the cell in /cells", false, {}, std::vector<std::int32_t>{}};
}

/// Enumerations grow only at their end.
std::vector<std::string> longer_of(const std::vector<std::string>& a,
                                   const std::vector<std::string>& b, const std::string& name) {
  const auto& [shorter, longer] = a.size() < b.size() ? std::tie(a, b) : std::tie(b, a);
  if (std::equal(shorter.begin(), shorter.end(), longer.begin())) return longer;
  throw H5Error("the column " + name + " numbers its values differently in a new cell");
}

/// Writes a table, which is not created without rows. Its first column, before those of `schema`,
/// is `cell`: the row in /cells that a row belongs to. Rows are buffered in memory until they fill
/// chunks or finish() is called. `threads` pack columns.
class TableWriter {
 public:
  TableWriter(hid_t file, const Table& schema, int threads);
  /// Appends the rows of a cell; returns where they will be. Adds columns that the table lacks;
  /// fills columns that `rows` lacks with NaN, 0 or empty texts. Throws H5Error when the types of a
  /// column differ, or whether it is volatile.
  RowRange append(const Table& rows, std::int32_t cell);
  /// Writes the buffered rows, closes the table and adds what it has to `layout`. Must be the last
  /// call.
  void finish(SpareLayout& layout);

 private:
  struct Stored {
    Column pending;  // described as in the file, with the rows not yet written
    std::optional<H5Dataset> dataset{};
    std::size_t width = 0, enum_names = 0;  // as they are in the dataset
    std::vector<SpareChunk> chunks{};
  };
  Column& find_or_add(const Column& column);
  void describe(const Column& column);
  void create(Stored& column, std::size_t width, std::size_t rows);
  void flush(bool last = false);
  void make_room(Stored& column, std::size_t rows);
  void store(Stored& column, std::size_t first, const std::vector<std::string>& chunks) const;

  hid_t file_;
  std::string name_;
  int threads_;
  std::optional<H5Group> group_;
  std::vector<Stored> columns_;
  std::size_t stored_rows_ = 0, pending_rows_ = 0, chunk_rows_ = kChunkRows;
};

TableWriter::TableWriter(hid_t file, const Table& schema, int threads)
    : file_(file), name_(schema.name), threads_(threads) {
  columns_.push_back({cell_column()});
  for (const Column& column : schema.columns) columns_.push_back({without_rows(column)});
}

/// In a new dataset all rows so far are NaN, 0 or empty.
void TableWriter::create(Stored& column, std::size_t width, std::size_t rows) {
  const Column& described = column.pending;
  column.dataset =
      create_column(group_->get(), described, width, rows, chunk_rows_, rows <= stored_rows_);
  column.width = width;
  column.enum_names = described.enum_names.size();
  column.chunks.assign((stored_rows_ + chunk_rows_ - 1) / chunk_rows_, {});
}

Column& TableWriter::find_or_add(const Column& column) {
  for (Stored& each : columns_)
    if (each.pending.name == column.name) return each.pending;
  columns_.push_back({without_rows(column)});
  fill_up(columns_.back().pending.data, pending_rows_);
  return columns_.back().pending;
}

/// Describes a column as a new cell does. Throws H5Error where the two contradict each other.
void TableWriter::describe(const Column& column) {
  Column& known = find_or_add(column);
  known.enum_names = longer_of(known.enum_names, column.enum_names, column.name);
  if (known.is_volatile != column.is_volatile && !holds_nothing(column.data))
    throw H5Error("the column " + name_ + "/" + column.name +
                  " is volatile in one of two cells alone, as programs of two versions say: give "
                  "--archive another file for the new cells");
  if (known.data.index() != column.data.index())
    throw H5Error("the column " + name_ + "/" + column.name + " holds " +
                  std::string(type_name(known.data)) + " in the archive and " +
                  std::string(type_name(column.data)) + " in a new cell");
}

RowRange TableWriter::append(const Table& rows, std::int32_t cell) {
  const RowRange range{stored_rows_ + pending_rows_, rows.rows()};
  if (range.rows == 0) return range;
  for (const Column& column : rows.columns) describe(column);
  for (std::size_t row = 0; row < range.rows;) {
    const std::size_t count = std::min(range.rows - row, kFlushRows - pending_rows_);
    for (const Column& column : rows.columns)
      append_values(find_or_add(column).data, column.data, {row, count});
    row += count;
    pending_rows_ += count;
    std::get<std::vector<std::int32_t>>(columns_.front().pending.data).resize(pending_rows_, cell);
    for (Stored& column : columns_) fill_up(column.pending.data, pending_rows_);
    if (pending_rows_ == kFlushRows) flush();
  }
  return range;
}

void TableWriter::finish(SpareLayout& layout) {
  flush(true);
  if (!group_) return;
  Table& described = layout.tables.emplace_back(Table{name_, {}});
  layout.rows.push_back(stored_rows_);
  layout.chunk_rows.push_back(chunk_rows_);
  std::vector<std::string> names;
  for (Stored& column : columns_) {
    const std::string& name = names.emplace_back(column.pending.name);
    column.dataset->close_checked("write the column " + name_ + "/" + name);
    described.columns.push_back(without_rows(column.pending));
    layout.widths.push_back(column.width);
    layout.chunks.insert(layout.chunks.end(), column.chunks.begin(), column.chunks.end());
  }
  finish_table(group_->get(), stored_rows_, names);
  group_->close_checked("close the table " + name_);
}

/// Writes the pending rows: whole chunks, or the last ones. A table that has only those is as large
/// as they are and does not grow.
void TableWriter::flush(bool last) {
  if (pending_rows_ == 0) return;
  const bool is_first = !group_, grows = !(is_first && last);
  if (is_first) group_.emplace(create_group(file_, name_));
  if (!grows) chunk_rows_ = std::min(pending_rows_, kChunkRows);
  for (Stored& column : columns_) make_room(column, grows ? stored_rows_ : pending_rows_);
  std::vector<std::vector<std::string>> packed(columns_.size());
  in_parallel(columns_.size(), threads_, [&](std::size_t i) {
    packed[i] = pack_chunks(columns_[i].pending, pending_rows_, columns_[i].width, chunk_rows_);
  });
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (grows) resize(columns_[i].dataset->get(), stored_rows_ + pending_rows_);
    store(columns_[i], stored_rows_, packed[i]);
    std::visit([](auto& values) { values.clear(); }, columns_[i].pending.data);
  }
  stored_rows_ += std::exchange(pending_rows_, 0);
}

/// Writes chunks from the row `first` on, and keeps what identifies them.
void TableWriter::store(Stored& column, std::size_t first,
                        const std::vector<std::string>& chunks) const {
  write_chunks(column.dataset->get(), first, chunk_rows_, chunks,
               name_ + "/" + column.pending.name);
  column.chunks.resize(first / chunk_rows_);
  for (const std::string& chunk : chunks)
    column.chunks.push_back({chunk.size(), stored_sum(chunk)});
}

/// A stored text column is as wide as its longest text, and an enumeration has the names known when
/// it was written. A longer text or enumeration replaces the dataset. A first one gets `rows` rows.
void TableWriter::make_room(Stored& column, std::size_t rows) {
  const std::size_t width = width_of(column.pending);
  if (!column.dataset) return create(column, width, rows);
  if (width <= column.width && column.pending.enum_names.size() <= column.enum_names) return;
  const std::string& name = column.pending.name;
  const Column values =
      StoredTable(name_, {stored_column(group_->get(), name)}).read_column(name, {0, stored_rows_});
  column.dataset->close_checked("close the column " + name_ + "/" + name);
  remove_object(group_->get(), name);
  create(column, std::max(width, column.width), stored_rows_);
  store(column, 0, pack_chunks(values, stored_rows_, column.width, chunk_rows_));
}

}  // namespace

void write_archive(const std::string& path, ArchiveIndex& index,
                   const std::function<RowsOfCell(CellRecord& cell)>& rows_of, int threads) {
  H5File file = create_h5(path);
  std::vector<TableWriter> writers;
  for (const std::string_view table : kCellTables)
    writers.emplace_back(file.get(), described_table(table), threads);
  for (CellRecord& cell : index.cells) {
    const RowsOfCell rows = rows_of(cell);
    const auto own = std::exchange(cell.rows, {});
    for (std::size_t i = 0; rows && i < writers.size(); ++i)
      if (own[i].rows > 0) cell.rows[i] = writers[i].append(rows(i), cell.index);
  }
  SpareLayout layout;
  for (TableWriter& writer : writers) writer.finish(layout);
  write_index(file.get(), index);
  file.close_checked("close " + path);
  append_spare(path, index, layout);
}

}  // namespace sweep
