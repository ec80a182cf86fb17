#include <algorithm>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/parallel.hpp"

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
  std::vector<char> bytes;
  for (std::size_t first = 0; first < rows; first += shape.rows) {
    const RowSlice slice{first, std::min<std::size_t>(shape.rows, rows - first)};
    bytes.resize(slice.count * shape.row_bytes);
    put_values(column, slice, shape.row_bytes, bytes.data(), shape.row_bytes);
    chunks.push_back(pack_chunk(shape, bytes));
  }
  return chunks;
}

void write_column_order(hid_t group, const std::vector<std::string>& names) {
  if (has_attribute(group, "columns")) {
    h5_check(H5Adelete(group, "columns"), "replace the list of columns");
  }
  write_attribute(group, "columns", names);
}

/// Enumerations grow only at their end.
std::vector<std::string> longer_of(const std::vector<std::string>& a,
                                   const std::vector<std::string>& b, const std::string& name) {
  const auto& [shorter, longer] = a.size() < b.size() ? std::tie(a, b) : std::tie(b, a);
  if (std::equal(shorter.begin(), shorter.end(), longer.begin())) return longer;
  throw H5Error("the column " + name + " numbers its values differently in a new cell");
}

}  // namespace

void create_growing_table(hid_t file, const Table& schema) {
  H5Group group = create_group(file, schema.name);
  std::vector<Column> columns = {cell_column()};
  for (const Column& column : schema.columns) columns.push_back(without_rows(column));
  std::vector<std::string> names;
  for (const Column& column : columns) {
    create_column(group.get(), column, stored_type(column, 1).get(), 0, kChunkRows)
        .close_checked("close the column " + column.name);
    names.push_back(column.name);
  }
  write_column_order(group.get(), names);
  create_row_dimension(group.get(), 0, names);
  group.close_checked("close the table " + schema.name);
}

TableAppender::TableAppender(hid_t file, const std::string& table, Crew* crew)
    : name_(table),
      crew_(crew),
      group_(H5Gopen2(file, table.c_str(), H5P_DEFAULT), "open the table " + table) {
  for (const std::string& name : read_texts_attribute(group_.get(), "columns")) open(name);
  if (columns_.empty()) throw H5Error("the table " + table + " has no columns");
  stored_rows_ = static_cast<std::int64_t>(rows_of(columns_.front().dataset.get()));
}

void TableAppender::open(const std::string& name) {
  H5Dataset dataset = open_column(group_.get(), name);
  H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + name);
  Column column = describe_column(dataset.get(), type.get(), name);
  columns_.push_back({std::move(dataset), std::move(type), std::move(column)});
}

TableAppender::Stored& TableAppender::find_or_add(const Column& column) {
  for (Stored& each : columns_) {
    if (each.pending.name == column.name) return each;
  }
  add_column(without_rows(column), stored_type(column, text_width(column)));
  open(column.name);
  std::vector<std::string> names;
  for (const Stored& each : columns_) names.push_back(each.pending.name);
  write_column_order(group_.get(), names);
  fill_up(columns_.back().pending.data, static_cast<std::size_t>(pending_rows_));
  return columns_.back();
}

void TableAppender::add_column(const Column& column, const H5Type& type) {
  H5Dataset dataset = create_column(group_.get(), column, type.get(),
                                    static_cast<hsize_t>(stored_rows_), kChunkRows);
  attach_row_dimension(group_.get(), dataset.get());
  dataset.close_checked("close the column " + column.name);
}

RowRange TableAppender::append(const Table& rows, std::int32_t cell) {
  const RowRange range{this->rows(), static_cast<std::int64_t>(rows.rows())};
  for (const Column& column : rows.columns)
    if (column.name != "cell") take_description(column);
  for (std::int64_t first = 0; first < range.rows;) {
    if (pending_rows_ == 0) take_last_chunk();
    const std::int64_t count = std::min(range.rows - first, kFlushRows - pending_rows_);
    append_slice(rows, {static_cast<std::size_t>(first), static_cast<std::size_t>(count)}, cell);
    first += count;
    if (pending_rows_ >= kFlushRows) flush(kFlushRows);
  }
  return range;
}

void TableAppender::take_description(const Column& column) {
  Stored& to = find_or_add(column);
  to.pending.enum_names = longer_of(to.pending.enum_names, column.enum_names, column.name);
}

void TableAppender::append_slice(const Table& rows, RowSlice slice, std::int32_t cell) {
  for (const Column& column : rows.columns) {
    if (column.name == "cell") continue;
    ColumnData& to = find_or_add(column).pending.data;
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
  for (Stored& column : columns_) {
    fill_up(column.pending.data, static_cast<std::size_t>(pending_rows_));
  }
}

/// A partly filled last chunk becomes pending, and is written again with the rows that follow it.
void TableAppender::take_last_chunk() {
  const std::int64_t rows = stored_rows_ % static_cast<std::int64_t>(kChunkRows);
  if (rows == 0) return;
  stored_rows_ -= rows;
  pending_rows_ = rows;
  for (Stored& column : columns_) {
    const std::vector<char> bytes =
        read_stored(column, static_cast<hsize_t>(stored_rows_), static_cast<hsize_t>(rows));
    column.pending.data =
        take_values(column.type.get(), bytes.data(), static_cast<std::size_t>(rows),
                    H5Tget_size(column.type.get()), column.pending.name);
  }
}

std::vector<char> TableAppender::read_stored(const Stored& column, hsize_t first,
                                             hsize_t rows) const {
  try {
    return read_bytes(column.dataset.get(), column.type.get(), first, rows,
                      name_ + "/" + column.pending.name);
  } catch (const H5Error& error) {
    throw ArchiveDamaged(std::string("the archive is damaged: ") + error.what());
  }
}

void TableAppender::finish() {
  flush(pending_rows_);
  H5Dataset row(H5Dopen2(group_.get(), "row", H5P_DEFAULT), "open the rows of " + name_);
  resize(row.get(), static_cast<hsize_t>(stored_rows_));
  row.close_checked("close the rows of " + name_);
  for (Stored& column : columns_) {
    column.dataset.close_checked("write the column " + name_ + "/" + column.pending.name);
  }
  group_.close_checked("close the table " + name_);
}

/// Writes the first `rows` pending rows: whole chunks, or all that there are.
void TableAppender::flush(std::int64_t rows) {
  if (rows == 0) return;
  const auto count = static_cast<std::size_t>(rows);
  for (Stored& column : columns_) make_room(column);
  std::vector<ChunkShape> shapes;
  for (const Stored& column : columns_) shapes.push_back(shape_of(column));
  std::vector<std::vector<StoredChunk>> packed(columns_.size());
  in_parallel(columns_.size(), crew_, [&](std::size_t i) {
    packed[i] = packed_chunks(columns_[i].pending, shapes[i], count);
  });
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Stored& column = columns_[i];
    resize(column.dataset.get(), static_cast<hsize_t>(stored_rows_ + rows));
    for (std::size_t chunk = 0; chunk < packed[i].size(); ++chunk)
      write_chunk(column.dataset.get(), static_cast<hsize_t>(stored_rows_) + chunk * kChunkRows,
                  packed[i][chunk], name_ + "/" + column.pending.name);
    drop_values(columns_[i].pending.data, count);
  }
  stored_rows_ += rows;
  pending_rows_ -= rows;
}

ChunkShape TableAppender::shape_of(const Stored& column) const {
  if (auto shape = chunk_shape(column.dataset.get(), column.type.get());
      shape && shape->rows == kChunkRows)
    return *shape;
  throw ArchiveDamaged("the archive is damaged: the column " + name_ + "/" + column.pending.name +
                       " is stored in an unknown way");
}

/// A stored text column is as wide as its longest text, and an enumeration has the names known when
/// it was written. A longer text or enumeration replaces the column.
void TableAppender::make_room(Stored& column) {
  const std::size_t stored_width = H5Tget_size(column.type.get());
  const std::size_t width = text_width(column.pending);
  const bool is_text = std::holds_alternative<std::vector<std::string>>(column.pending.data);
  if (is_text && width > stored_width) replace(column, column.pending, width);
  if (column.pending.enum_names.size() > enum_names_of(column.type.get()).size()) {
    replace(column, column.pending, 1);
  }
}

void TableAppender::replace(Stored& column, const Column& meaning, std::size_t width) {
  const std::string name = meaning.name;
  const auto rows = static_cast<hsize_t>(stored_rows_);
  const std::vector<char> old = read_stored(column, 0, rows);
  const std::size_t old_size = H5Tget_size(column.type.get());
  Column values = without_rows(meaning);
  values.data = take_values(column.type.get(), old.data(), rows, old_size, name);
  H5Type type = stored_type(values, width);
  column.dataset.close_checked("close the column " + name_ + "/" + name);
  remove_object(group_.get(), name);
  add_column(values, type);
  column.dataset = open_column(group_.get(), name);
  column.type = std::move(type);
  const std::size_t size = H5Tget_size(column.type.get());
  std::vector<char> bytes(rows * size);
  put_values(values, size, bytes.data(), size);
  write_bytes(column.dataset.get(), column.type.get(), 0, rows, bytes.data(), name_ + "/" + name);
}

}  // namespace sweep
