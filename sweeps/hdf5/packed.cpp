#include <algorithm>
#include <optional>

#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/codec.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/direct_chunks.hpp"

namespace sweep {

namespace {

/// The place of a column in a packed row.
struct Slot {
  std::size_t width;   // bytes of a text
  std::size_t offset;  // bytes from the start of the row
};

struct PackedLayout {
  std::vector<Slot> slots;
  std::size_t row_bytes = 0;
  std::size_t bytes_of(std::size_t slot) const {
    return (slot + 1 < slots.size() ? slots[slot + 1].offset : row_bytes) - slots[slot].offset;
  }
};

PackedLayout layout_of(const Table& table) {
  PackedLayout layout;
  for (const Column& column : table.columns) {
    const std::size_t width = text_width(column);
    layout.slots.push_back({width, layout.row_bytes});
    layout.row_bytes += H5Tget_size(stored_type(column, width).get());
  }
  return layout;
}

H5Type row_type(const Table& table, const PackedLayout& layout) {
  H5Type row(H5Tcreate(H5T_COMPOUND, layout.row_bytes), "make the type of a row");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const H5Type type = stored_type(table.columns[i], layout.slots[i].width);
    h5_check(
        H5Tinsert(row.get(), table.columns[i].name.c_str(), layout.slots[i].offset, type.get()),
        "add a column to the type of a row");
  }
  return row;
}

/// Calls `use` with the rows of each chunk.
template <class Use>
void for_each_chunk(std::size_t rows, std::size_t chunk, Use use) {
  for (std::size_t first = 0; first < rows; first += chunk)
    use(RowSlice{first, std::min(chunk, rows - first)});
}

/// The shuffled bytes of a chunk of packed rows: those of its columns, one after the other, as a
/// packed row has its values one after the other. Rows after the last are zero.
std::vector<char> shuffled_rows(const Table& table, const PackedLayout& layout, RowSlice rows,
                                std::size_t chunk) {
  std::vector<char> shuffled(chunk * layout.row_bytes), values;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::size_t width = layout.bytes_of(i);
    values.resize(rows.count * width);
    put_values(table.columns[i], rows, layout.slots[i].width, values.data(), width);
    shuffle_bytes(values.data(), rows.count, width,
                  shuffled.data() + layout.slots[i].offset * chunk, chunk);
  }
  return shuffled;
}

/// One line per column: unit, meaning, and "volatile" or nothing, separated by tabs.
std::string meanings(const Table& table) {
  std::string lines;
  for (const Column& column : table.columns) {
    lines += column.unit + '\t' + column.long_name + '\t' + (column.is_volatile ? "volatile" : "") +
             '\n';
  }
  return lines;
}

/// Removes and returns the text up to the next `end`.
std::string take_until(std::string& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string front = text.substr(0, at);
  text.erase(0, at + 1);
  return front;
}

/// The column without its rows.
Column column_at(hid_t row, unsigned index, std::string meaning) {
  char* member = H5Tget_member_name(row, index);
  const std::string name = member;
  H5free_memory(member);
  const H5Type type(H5Tget_member_type(row, index), "get the type of a column");
  return {name,
          take_until(meaning, '\t'),
          take_until(meaning, '\t'),
          meaning == "volatile",
          enum_names_of(type.get()),
          take_values(type.get(), nullptr, 0, 0, name)};
}

/// Appends rows whose bytes are packed, or shuffled with `plane` rows to a chunk.
void append_rows(Table& table, hid_t row, const std::vector<char>& bytes, std::size_t count,
                 std::optional<std::size_t> plane) {
  const std::size_t row_bytes = H5Tget_size(row);
  std::vector<char> values;
  for (unsigned i = 0; i < table.columns.size(); ++i) {
    Column& column = table.columns[i];
    const H5Type type(H5Tget_member_type(row, i), "get the type of a column");
    const std::size_t offset = H5Tget_member_offset(row, i), width = H5Tget_size(type.get());
    const char* at = bytes.data() + offset * plane.value_or(1);
    if (plane) {
      values.resize(count * width);
      unshuffle_bytes(at, *plane, count, width, values.data());
      at = values.data();
    }
    append_values(column.data,
                  take_values(type.get(), at, count, plane ? width : row_bytes, column.name));
  }
}

/// A packed table in its file.
struct OpenTable {
  H5Dataset dataset;
  H5Type type;
  std::size_t rows;
  Table described;  // without rows

  OpenTable(hid_t parent, const std::string& name)
      : dataset(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), "open the table " + name),
        type(H5Dget_type(dataset.get()), "get the type of the table " + name),
        rows(rows_of(dataset.get())),
        described{name, {}} {
    const int columns =
        static_cast<int>(h5_check(H5Tget_nmembers(type.get()), "count the columns of " + name));
    std::string lines = read_text_attribute(dataset.get(), "meanings");
    for (int i = 0; i < columns; ++i)
      described.columns.push_back(
          column_at(type.get(), static_cast<unsigned>(i), take_until(lines, '\n')));
  }

  /// Calls `use` with the rows of up to `at_once` chunks after another.
  template <class Use>
  void for_each_slices(std::size_t at_once, Use use) const {
    constexpr std::size_t kSliceRows = std::size_t{1} << 16;  // of what HDF5 reads
    const std::optional<ChunkShape> shape = chunk_shape(dataset.get(), type.get());
    std::vector<RowSlice> slices;
    for_each_chunk(rows, shape ? shape->rows : kSliceRows, [&](RowSlice slice) {
      slices.push_back(slice);
      if (slices.size() < at_once && slice.first + slice.count < rows) return;
      use(slices, shape);
      slices.clear();
    });
  }
  /// The crew unpacks.
  void append_slices(Table& table, const std::vector<RowSlice>& slices,
                     const std::optional<ChunkShape>& shape, Crew* crew) const {
    std::vector<RawChunk> stored(slices.size());
    std::vector<std::optional<std::vector<char>>> shuffled(slices.size());
    for (std::size_t i = 0; shape && i < slices.size(); ++i) {
      const hsize_t row = slices[i].first;
      read_chunk(dataset.get(), &row, stored[i], table.name);
    }
    in_parallel(slices.size(), crew, [&](std::size_t i) {
      if (shape && stored[i].skipped_filters == 0)
        shuffled[i] = unpack_shuffled(stored[i].bytes, shape->bytes());
    });
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const auto [first, count] = slices[i];
      if (shuffled[i]) {
        append_rows(table, type.get(), *shuffled[i], count, shape->rows);
      } else {
        append_rows(table, type.get(),
                    read_bytes(dataset.get(), type.get(), first, count, table.name), count,
                    std::nullopt);
      }
    }
  }
};

}  // namespace

void write_packed_table(hid_t parent, const Table& table, std::size_t chunk_rows) {
  const PackedLayout layout = layout_of(table);
  const H5Type type = row_type(table, layout);
  const hsize_t rows = table.rows();
  const H5Space space(H5Screate_simple(1, &rows, nullptr), "make a space of rows");
  const std::size_t chunk = std::min<std::size_t>(rows, chunk_rows);
  const H5Properties properties =
      rows > 0 ? chunked_layout(chunk)
               : H5Properties(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  H5Dataset dataset(H5Dcreate2(parent, table.name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                               properties.get(), H5P_DEFAULT),
                    "create the table " + table.name);
  for_each_chunk(rows, chunk, [&](RowSlice slice) {
    write_chunk(dataset.get(), slice.first,
                pack_shuffled(shuffled_rows(table, layout, slice, chunk)), table.name);
  });
  write_attribute(dataset.get(), "meanings", meanings(table));
  dataset.close_checked("close the table " + table.name);
}

Table read_packed_table(hid_t parent, const std::string& name, Crew* crew) {
  constexpr std::size_t kChunksOfAThread = 8;
  const OpenTable file(parent, name);
  Table table = file.described;
  for (Column& column : table.columns)
    std::visit([&](auto& values) { values.reserve(file.rows); }, column.data);
  file.for_each_slices(crew == nullptr ? 1 : kChunksOfAThread * crew->size(),
                       [&](const auto& slices, const auto& shape) {
                         file.append_slices(table, slices, shape, crew);
                       });
  return table;
}

bool packed_table_holds(hid_t parent, const Table& expected) {
  const OpenTable file(parent, expected.name);
  bool same = file.rows == expected.rows() && same_results(file.described, rows_in(expected, 0, 0));
  file.for_each_slices(1, [&](const auto& slices, const auto& shape) {
    if (!same) return;
    Table found = file.described;
    file.append_slices(found, slices, shape, nullptr);
    same = same_results(found, rows_in(expected, slices[0].first, slices[0].count));
  });
  return same;
}

}  // namespace sweep
