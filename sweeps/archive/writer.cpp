#include "sweeps/archive/writer.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sweeps/archive/spare.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/codec.hpp"

namespace sweep {

namespace {

constexpr std::int64_t kFlushRows = 2 * static_cast<std::int64_t>(kChunkRows);

Column cell_column() {
  return {"cell", "", "row of the cell in /cells", false, {}, std::vector<std::int32_t>{}};
}

void drop_values(ColumnData& data, std::size_t rows) {
  std::visit(
      [rows](auto& values) {
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rows));
      },
      data);
}

/// The first `rows` rows of a column, in chunks.
std::vector<StoredChunk> packed_chunks(const Column& column, const ChunkShape& shape,
                                       std::size_t rows) {
  std::vector<StoredChunk> chunks;
  std::vector<char> packed;
  for (std::size_t first = 0; first < rows; first += shape.rows) {
    const RowSlice slice{first, std::min<std::size_t>(shape.rows, rows - first)};
    chunks.push_back(pack_chunk(shape, stored_values(column, slice, shape.row_bytes, packed)));
  }
  return chunks;
}

/// Enumerations grow only at their end.
std::vector<std::string> longer_of(const std::vector<std::string>& a,
                                   const std::vector<std::string>& b, const std::string& name) {
  const auto& [shorter, longer] = a.size() < b.size() ? std::tie(a, b) : std::tie(b, a);
  if (std::equal(shorter.begin(), shorter.end(), longer.begin())) return longer;
  throw H5Error("the column " + name + " numbers its values differently in a new cell");
}

}  // namespace

TableWriter::TableWriter(hid_t file, const Table& schema, int threads)
    : file_(file), name_(schema.name), threads_(threads) {
  columns_.push_back({cell_column()});
  for (const Column& column : schema.columns) columns_.push_back({without_rows(column)});
}

/// In a new dataset all rows so far are NaN, 0 or empty.
void TableWriter::create(Stored& column, std::size_t width, std::int64_t rows) {
  const bool grows = rows <= stored_rows_;
  column.type.emplace(stored_type(column.pending, width));
  create_column(group_->get(), column.pending, column.type->get(), static_cast<hsize_t>(rows),
                static_cast<hsize_t>(chunk_rows_), grows)
      .close_checked("close the column " + column.pending.name);
  column.dataset.emplace(open_column(group_->get(), column.pending.name));
  column.chunks.assign(static_cast<std::size_t>((stored_rows_ + chunk_rows_ - 1) / chunk_rows_),
                       {});
}

Column& TableWriter::find_or_add(const Column& column) {
  for (Stored& each : columns_)
    if (each.pending.name == column.name) return each.pending;
  columns_.push_back({without_rows(column)});
  fill_up(columns_.back().pending.data, static_cast<std::size_t>(pending_rows_));
  return columns_.back().pending;
}

RowRange TableWriter::append(const Table& table, RowRange rows, std::int32_t cell) {
  const RowRange range{this->rows(), rows.rows};
  for (const Column& column : table.columns) {
    if (column.name == "cell") continue;
    Column& to = find_or_add(column);
    to.enum_names = longer_of(to.enum_names, column.enum_names, column.name);
  }
  for (std::int64_t first = 0; first < range.rows;) {
    const std::int64_t count = std::min(range.rows - first, kFlushRows - pending_rows_);
    append_slice(table,
                 {static_cast<std::size_t>(rows.offset + first), static_cast<std::size_t>(count)},
                 cell);
    first += count;
    if (pending_rows_ >= kFlushRows) flush(kFlushRows);
  }
  return range;
}

void TableWriter::append_slice(const Table& rows, RowSlice slice, std::int32_t cell) {
  for (const Column& column : rows.columns) {
    if (column.name == "cell") continue;
    ColumnData& to = find_or_add(column).data;
    if (to.index() != column.data.index()) {
      throw H5Error("the column " + name_ + "/" + column.name + " holds " +
                    std::string(type_name(to)) + " in the archive and " +
                    std::string(type_name(column.data)) + " in a new cell");
    }
    append_values(to, column.data, slice.first, slice.count);
  }
  pending_rows_ += static_cast<std::int64_t>(slice.count);
  auto& cells = std::get<std::vector<std::int32_t>>(columns_.front().pending.data);
  cells.resize(static_cast<std::size_t>(pending_rows_), cell);
  for (Stored& column : columns_)
    fill_up(column.pending.data, static_cast<std::size_t>(pending_rows_));
}

std::vector<StoredColumn> TableWriter::finish() {
  flush(pending_rows_, true);
  std::vector<StoredColumn> stored;
  if (!group_) return stored;
  std::vector<std::string> names;
  for (Stored& column : columns_) {
    const std::string& name = names.emplace_back(column.pending.name);
    stored.push_back({name_, without_rows(column.pending), H5Tget_size(column.type->get()),
                      stored_rows_, chunk_rows_, std::move(column.chunks)});
    column.dataset->close_checked("write the column " + name_ + "/" + name);
  }
  write_attribute(group_->get(), "columns", names);
  create_row_dimension(group_->get(), static_cast<hsize_t>(stored_rows_), names);
  group_->close_checked("close the table " + name_);
  return stored;
}

/// Writes the first `rows` pending rows: whole chunks, or the last ones. A table that has only
/// those is as large as they are and does not grow.
void TableWriter::flush(std::int64_t rows, bool last) {
  if (rows == 0) return;
  const auto count = static_cast<std::size_t>(rows);
  const bool is_first = !group_, grows = !(is_first && last);
  if (is_first) group_.emplace(create_group(file_, name_));
  if (!grows) chunk_rows_ = std::min<std::int64_t>(rows, kChunkRows);
  std::vector<ChunkShape> shapes;
  for (Stored& column : columns_) {
    make_room(column, grows ? stored_rows_ : rows);
    shapes.push_back(chunk_shape(column.dataset->get(), column.type->get()));
  }
  std::vector<std::vector<StoredChunk>> packed(columns_.size());
  in_parallel(columns_.size(), threads_, [&](std::size_t i) {
    packed[i] = packed_chunks(columns_[i].pending, shapes[i], count);
  });
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (grows) resize(columns_[i].dataset->get(), static_cast<hsize_t>(stored_rows_ + rows));
    store(columns_[i], stored_rows_, packed[i]);
    drop_values(columns_[i].pending.data, count);
  }
  stored_rows_ += rows;
  pending_rows_ -= rows;
}

/// Writes chunks from the row `first` on, and keeps what identifies them.
void TableWriter::store(Stored& column, std::int64_t first,
                        const std::vector<StoredChunk>& chunks) const {
  column.chunks.resize(static_cast<std::size_t>(first / chunk_rows_));
  for (const StoredChunk& chunk : chunks) {
    write_chunk(column.dataset->get(), static_cast<hsize_t>(first), chunk,
                name_ + "/" + column.pending.name);
    column.chunks.push_back({static_cast<std::int32_t>(chunk.size()), stored_sum(chunk)});
    first += chunk_rows_;
  }
}

/// A stored text column is as wide as its longest text, and an enumeration has the names known when
/// it was written. A longer text or enumeration replaces the column. A new dataset gets `rows`
/// rows.
void TableWriter::make_room(Stored& column, std::int64_t rows) {
  const std::size_t width = text_width(column.pending);
  if (!column.dataset) return create(column, width, rows);
  const bool is_text = std::holds_alternative<std::vector<std::string>>(column.pending.data);
  if ((is_text && width > H5Tget_size(column.type->get())) ||
      column.pending.enum_names.size() > enum_names_of(column.type->get()).size())
    replace(column, width);
}

void TableWriter::replace(Stored& column, std::size_t width) {
  const std::string& name = column.pending.name;
  const auto rows = static_cast<hsize_t>(stored_rows_);
  Column values = without_rows(column.pending);
  values.data = values_from(values.data, H5Tget_size(column.type->get()), rows, [&](char* out) {
    read_rows(column.dataset->get(), column.type->get(), 0, rows, out, name_ + "/" + name);
  });
  column.dataset->close_checked("close the column " + name_ + "/" + name);
  remove_object(group_->get(), name);
  create(column, width, stored_rows_);
  store(column, 0,
        packed_chunks(values, chunk_shape(column.dataset->get(), column.type->get()), rows));
}

ArchiveWriter::ArchiveWriter(std::string path, int threads)
    : path_(std::move(path)), file_(create_h5(path_)) {
  for (const std::string_view table : kCellTables)
    tables_.emplace_back(file_.get(), described_table(table), threads);
}

void ArchiveWriter::append(CellRecord& cell, std::size_t table, const Table& from, RowRange rows) {
  cell.rows[table] = tables_[table].append(from, rows, cell.index);
}

void ArchiveWriter::append(CellRecord& cell, std::size_t table, const Table& rows) {
  append(cell, table, rows, {0, static_cast<std::int64_t>(rows.rows())});
}

void ArchiveWriter::append(CellRecord& cell, const ShardContents& contents) {
  cell.histograms = contents.record.histograms;
  for (std::size_t i = 0; i < tables_.size(); ++i) append(cell, i, *contents.tables()[i]);
}

void ArchiveWriter::finish(const ArchiveIndex& index) {
  std::array<RowRange, kCellTables.size()> rows;
  std::vector<StoredColumn> columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].rows = tables_[i].rows();
    for (StoredColumn& column : tables_[i].finish()) columns.push_back(std::move(column));
  }
  write_index(file_.get(), index, rows);
  file_.close_checked("close " + path_);
  append_spare(path_, index, columns);
}

void create_archive_file(const std::string& path, const ArchiveIndex& index) {
  ArchiveWriter(path).finish(index);
}

}  // namespace sweep
