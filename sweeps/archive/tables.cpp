#include "sweeps/archive/tables.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "sweeps/archive/errors.hpp"

namespace sweep {

namespace {

constexpr hsize_t kWindowRows = 2 * kChunkRows;

/// A column that is read in any order of rows. It is unpacked by chunks, of which the latest are
/// kept: small cells share a chunk, and cells of several merges alternate.
class ScatteredColumn {
 public:
  ScatteredColumn(hid_t group, const std::string& name, std::size_t most_bytes)
      : name_(name),
        dataset_(open_column(group, name)),
        type_(H5Dget_type(dataset_.get()), "get the type of the column " + name),
        size_(H5Tget_size(type_.get())),
        rows_(rows_of(dataset_.get())),
        most_(std::max<std::size_t>(1, most_bytes / (kChunkRows * size_))),
        chunks_((rows_ + kChunkRows - 1) / kChunkRows) {}

  void append_to(std::vector<char>& out, RowRange range) {
    auto row = static_cast<hsize_t>(range.offset);
    const hsize_t end = row + static_cast<hsize_t>(range.rows);
    if (end > rows_) {
      throw ArchiveDamaged("the column " + name_ + " is shorter than its cells say");
    }
    while (row < end) {
      const std::vector<char>& rows = chunk(row / kChunkRows);
      const hsize_t first = row % kChunkRows, count = std::min(end - row, kChunkRows - first);
      const auto start = rows.begin() + static_cast<std::ptrdiff_t>(first * size_);
      out.insert(out.end(), start, start + static_cast<std::ptrdiff_t>(count * size_));
      row += count;
    }
  }
  hid_t dataset() const { return dataset_.get(); }
  hid_t type() const { return type_.get(); }
  std::size_t size() const { return size_; }

 private:
  /// The rows of a chunk, which stay until many others have been asked for.
  const std::vector<char>& chunk(hsize_t index) {
    std::vector<char>& rows = chunks_[index];
    if (!rows.empty()) return rows;
    if (unpacked_.size() == most_) {
      chunks_[unpacked_.front()] = std::vector<char>();
      unpacked_.pop_front();
    }
    rows = fetch(index * kChunkRows);
    unpacked_.push_back(index);
    return rows;
  }
  std::vector<char> fetch(hsize_t first) const {
    try {
      return read_bytes(dataset_.get(), type_.get(), first, std::min(rows_ - first, kChunkRows),
                        name_);
    } catch (const H5Error& error) {
      throw ArchiveDamaged(std::string("the archive is damaged: ") + error.what());
    }
  }

  std::string name_;
  H5Dataset dataset_;
  H5Type type_;
  std::size_t size_;
  hsize_t rows_;
  std::size_t most_;                       // chunks that are kept
  std::vector<std::vector<char>> chunks_;  // empty: not unpacked
  std::deque<hsize_t> unpacked_;           // in this order
};

/// A column that is written from its first row to its last.
class ColumnWriter {
 public:
  ColumnWriter(hid_t group, const Column& column, const H5Type& type, hsize_t rows)
      : name_(column.name),
        type_(&type),
        size_(H5Tget_size(type.get())),
        dataset_(create_and_open(group, column, type, rows)) {}

  std::vector<char>& pending() { return pending_; }
  /// Writes the pending rows in multiples of `rows`.
  void flush_at(std::size_t rows) {
    std::size_t ready = pending_.size() / size_;
    if (ready < rows || ready == 0) return;
    ready -= ready % rows;
    write_bytes(dataset_.get(), type_->get(), written_, ready, pending_.data(), name_);
    written_ += ready;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(ready * size_));
  }
  void finish() {
    flush_at(1);
    dataset_.close_checked("write the column " + name_);
  }

 private:
  static H5Dataset create_and_open(hid_t group, const Column& column, const H5Type& type,
                                   hsize_t rows) {
    create_column(group, column, type.get(), rows, kChunkRows)
        .close_checked("close the column " + column.name);
    return open_column(group, column.name);
  }

  std::string name_;
  const H5Type* type_;
  std::size_t size_;
  H5Dataset dataset_;
  hsize_t written_ = 0;
  std::vector<char> pending_;
};

void copy_column(hid_t from, hid_t to, const std::string& name, std::span<const MovedRows> rows,
                 hsize_t total, std::size_t unpacked) {
  ScatteredColumn source(from, name, unpacked);
  const H5Type type(H5Tcopy(source.type()), "copy a type");
  ColumnWriter target(to, describe_column(source.dataset(), source.type(), name), type, total);
  for (const MovedRows& moved : rows) {
    source.append_to(target.pending(), moved.from);
    target.flush_at(kChunkRows);
  }
  target.finish();
}

void write_cell_column(hid_t from, hid_t to, std::span<const MovedRows> rows, hsize_t total) {
  const H5Dataset source = open_column(from, "cell");
  const H5Type type(H5Dget_type(source.get()), "get the type of the column cell");
  ColumnWriter target(to, describe_column(source.get(), type.get(), "cell"), type, total);
  for (const MovedRows& moved : rows) {
    for (std::int64_t i = 0; i < moved.from.rows; ++i) {
      const char* bytes = reinterpret_cast<const char*>(&moved.cell);
      target.pending().insert(target.pending().end(), bytes, bytes + sizeof moved.cell);
    }
    target.flush_at(kChunkRows);
  }
  target.finish();
}

const Table& described_table(std::string_view name) {
  static const ShardContents kNothing;
  const auto tables = kNothing.tables();
  return **std::find_if(tables.begin(), tables.end(),
                        [name](const Table* table) { return table->name == name; });
}

/// Whether an archive of an earlier minor version lacks the table.
bool too_old_for(hid_t file, std::string_view table) {
  const auto later = std::span(kCellTables).subspan(kEarliestTables);
  return std::find(later.begin(), later.end(), table) != later.end() &&
         !has_object(file, std::string(table));
}

}  // namespace

std::int64_t stored_rows(hid_t file, const std::string& table) {
  if (too_old_for(file, table)) return 0;
  const H5Group group(H5Gopen2(file, table.c_str(), H5P_DEFAULT), "open the table " + table);
  std::optional<hsize_t> rows;
  for (const std::string& name : read_texts_attribute(group.get(), "columns")) {
    const H5Dataset column(H5Dopen2(group.get(), name.c_str(), H5P_DEFAULT),
                           "open the column " + table + "/" + name);
    if (!rows) rows = rows_of(column.get());
    if (*rows == rows_of(column.get())) continue;
    throw H5Error("the columns of the table " + table + " differ in length");
  }
  return static_cast<std::int64_t>(rows.value_or(0));
}

TableReader::TableReader(hid_t file, const std::string& table, Described how, Crew* crew)
    : name_(table), crew_(crew) {
  if (too_old_for(file, table)) return;
  how == Described::by_file ? open_as_described(file) : open_as_known(file);
}

void TableReader::open_as_described(hid_t file) {
  const H5Group group(H5Gopen2(file, name_.c_str(), H5P_DEFAULT), "open the table " + name_);
  for (const std::string& name : read_texts_attribute(group.get(), "columns")) {
    H5Dataset dataset = open_column(group.get(), name);
    H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + name);
    Column column = describe_column(dataset.get(), type.get(), name);
    const hsize_t rows = rows_of(dataset.get());
    columns_.push_back({std::move(dataset), std::move(type), std::move(column), rows});
  }
}

void TableReader::open_as_known(hid_t file) {
  std::vector<Column> known = described_table(name_).columns;
  known.push_back({"cell", "", "", false, {}, {}});
  for (Column& column : known) {
    try {
      const H5Group group(H5Gopen2(file, name_.c_str(), H5P_DEFAULT), "open the table " + name_);
      H5Dataset dataset = open_column(group.get(), column.name);
      H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + column.name);
      const hsize_t rows = rows_of(dataset.get());
      column.enum_names = enum_names_of(type.get());
      column.data = take_values(type.get(), nullptr, 0, 0, column.name);
      columns_.push_back({std::move(dataset), std::move(type), std::move(column), rows});
    } catch (const H5Error&) {
      // The digest of each cell shows whether this column had data.
    }
  }
}

std::int64_t TableReader::rows() const {
  return columns_.empty() ? 0 : static_cast<std::int64_t>(columns_.front().rows);
}

Table TableReader::read(RowRange range) {
  Table table{name_, {}};
  for (Stored& column : columns_) {
    if (column.described.name == "cell") continue;
    table.columns.push_back(column.described);
    table.columns.back().data =
        values(column, static_cast<hsize_t>(range.offset), static_cast<hsize_t>(range.rows));
  }
  add_missing_columns(table, described_table(name_));
  return table;
}

std::vector<std::int32_t> TableReader::cell_numbers(RowRange range) {
  if (columns_.empty()) return {};
  for (Stored& column : columns_) {
    if (column.described.name != "cell") continue;
    return std::get<std::vector<std::int32_t>>(
        values(column, static_cast<hsize_t>(range.offset), static_cast<hsize_t>(range.rows)));
  }
  throw H5Error("the table " + name_ + " has no column cell");
}

ColumnData TableReader::values(Stored& column, hsize_t offset, hsize_t rows) const {
  const std::string& name = column.described.name;
  const std::size_t size = H5Tget_size(column.type.get());
  if (offset > column.rows || rows > column.rows - offset) {
    throw H5Error("the column " + name + " is shorter than its cells say");
  }
  if (rows > kWindowRows) {  // as few cells have; their rows are not kept
    const std::vector<char> bytes =
        read_bytes(column.dataset.get(), column.type.get(), offset, rows, name, crew_);
    return take_values(column.type.get(), bytes.data(), rows, size, name);
  }
  const hsize_t window_end = column.window_start + column.window.size() / size;
  if (offset < column.window_start || offset + rows > window_end) {
    const hsize_t start = offset - offset % kChunkRows;
    const hsize_t ahead =
        std::min(offset - start + std::max(rows, kWindowRows), column.rows - start);
    column.window = read_bytes(column.dataset.get(), column.type.get(), start, ahead, name, crew_);
    column.window_start = start;
  }
  return take_values(column.type.get(),
                     column.window.data() + (offset - column.window_start) * size, rows, size,
                     name);
}

CellAppender::CellAppender(hid_t file, Crew* crew) {
  for (const std::string_view table : kCellTables) {
    if (too_old_for(file, table)) create_growing_table(file, described_table(table));
    tables_.emplace_back(file, std::string(table), crew);
  }
}

void CellAppender::append(CellRecord& cell, const ShardContents& contents) {
  for (std::size_t i = 0; i < tables_.size(); ++i) append(cell, i, *contents.tables()[i]);
  cell.histograms = contents.record.histograms;
}

void CellAppender::append(CellRecord& cell, std::size_t table, const Table& rows) {
  cell.rows[table] = tables_[table].append(rows, cell.index);
}

std::array<RowRange, kCellTables.size()> CellAppender::finish() {
  std::array<RowRange, kCellTables.size()> rows;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    rows[i].rows = tables_[i].rows();
    tables_[i].finish();
  }
  return rows;
}

CellLoader::CellLoader(hid_t file, Described how, Crew* crew) {
  for (const std::string_view table : kCellTables) {
    tables_.emplace_back(file, std::string(table), how, crew);
  }
}

ShardContents CellLoader::load(const CellRecord& cell) {
  ShardContents contents;
  contents.record = cell;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    *contents.tables()[i] = tables_[i].read(cell.rows[i]);
  }
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  return contents;
}

void copy_rows(hid_t from, hid_t to, const std::string& table, std::span<const MovedRows> rows,
               std::size_t unpacked) {
  if (too_old_for(from, table)) return create_growing_table(to, described_table(table));
  hsize_t total = 0;
  for (const MovedRows& moved : rows) total += static_cast<hsize_t>(moved.from.rows);
  const H5Group source(H5Gopen2(from, table.c_str(), H5P_DEFAULT), "open the table " + table);
  H5Group target = create_group(to, table);
  const std::vector<std::string> names = read_texts_attribute(source.get(), "columns");
  for (const std::string& name : names) {
    if (name == "cell") {
      write_cell_column(source.get(), target.get(), rows, total);
    } else {
      copy_column(source.get(), target.get(), name, rows, total, unpacked);
    }
  }
  write_attribute(target.get(), "columns", names);
  create_row_dimension(target.get(), total, names);
  target.close_checked("close the table " + table);
}

}  // namespace sweep
