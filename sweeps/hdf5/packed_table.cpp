#include "sweeps/hdf5/packed_table.hpp"

#include <algorithm>

#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/codec.hpp"
#include "sweeps/hdf5/column.hpp"

namespace sweep {

namespace {

/// The place of a column's value in a packed row.
struct Slot {
  std::size_t offset, bytes;
};

std::vector<Slot> slots_of(const Table& table) {
  std::vector<Slot> slots;
  std::size_t offset = 0;
  for (const Column& column : table.columns) {
    slots.push_back({offset, H5Tget_size(stored_type(column, text_width(column)).get())});
    offset += slots.back().bytes;
  }
  return slots;
}

std::size_t row_bytes(const std::vector<Slot>& slots) {
  return slots.empty() ? 0 : slots.back().offset + slots.back().bytes;
}

H5Type row_type(const Table& table, const std::vector<Slot>& slots) {
  H5Type row(H5Tcreate(H5T_COMPOUND, row_bytes(slots)), "make the type of a row");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const H5Type type = stored_type(table.columns[i], slots[i].bytes);
    h5_check(H5Tinsert(row.get(), table.columns[i].name.c_str(), slots[i].offset, type.get()),
             "add a column to the type of a row");
  }
  return row;
}

/// The shuffled bytes of a chunk of packed rows: those of its columns, one after the other, as a
/// packed row has its values one after the other. Rows after the last are zero.
std::vector<char> shuffled_rows(const Table& table, const std::vector<Slot>& slots, RowSlice rows,
                                std::size_t chunk) {
  std::vector<char> shuffled(chunk * row_bytes(slots)), packed;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto [offset, bytes] = slots[i];
    shuffle_bytes(stored_values(table.columns[i], rows, bytes, packed).data(), rows.count, bytes,
                  shuffled.data() + offset * chunk, chunk);
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

/// A packed table in its file.
struct OpenTable {
  H5Dataset dataset;
  H5Type type;
  std::size_t rows;
  Table described;  // without rows
  std::vector<Slot> slots;

  OpenTable(hid_t parent, const std::string& name)
      : dataset(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), "open the table " + name),
        type(H5Dget_type(dataset.get()), "get the type of the table " + name),
        rows(rows_of(dataset.get())),
        described{name, {}} {
    const auto columns = static_cast<unsigned>(
        h5_check(H5Tget_nmembers(type.get()), "count the columns of " + name));
    std::string lines = read_text_attribute(dataset.get(), "meanings");
    for (unsigned i = 0; i < columns; ++i) add_column(i, take_until(lines, '\n'));
  }

  /// Calls `use` with the rows of a chunk after another, and the place of the first. Some
  /// chunks are unpacked at a time.
  template <class Use>
  void for_each_part(int threads, const Use& use) const {
    constexpr std::size_t kChunksOfAThread = 8;
    if (rows == 0) return;
    const ChunkShape shape = chunk_shape(dataset.get(), type.get());
    const std::size_t at_once =
        threads == 1 ? 1 : kChunksOfAThread * static_cast<std::size_t>(threads);
    for (hsize_t first = 0; first < rows; first += at_once * shape.rows) {
      std::vector<StoredChunk> stored;
      for (hsize_t row = first; row < rows && stored.size() < at_once; row += shape.rows)
        stored.push_back(read_chunk(dataset.get(), &row, described.name).value_or(StoredChunk()));
      std::vector<Table> parts(stored.size(), described);
      in_parallel(stored.size(), threads, [&](std::size_t i) {
        unpack(stored[i], shape, std::min(shape.rows, rows - first - i * shape.rows), parts[i]);
      });
      for (std::size_t i = 0; i < parts.size(); ++i) use(parts[i], first + i * shape.rows);
    }
  }

 private:
  void add_column(unsigned i, std::string meaning) {
    char* member = H5Tget_member_name(type.get(), i);
    const std::string name = member;
    H5free_memory(member);
    const H5Type own(H5Tget_member_type(type.get(), i), "get the type of a column");
    const std::string unit = take_until(meaning, '\t'), long_name = take_until(meaning, '\t');
    described.columns.push_back({name, unit, long_name, meaning == "volatile",
                                 enum_names_of(own.get()), data_of(own.get(), name)});
    slots.push_back({H5Tget_member_offset(type.get(), i), H5Tget_size(own.get())});
  }
  /// Calls nothing of HDF5.
  void unpack(const StoredChunk& stored, const ChunkShape& shape, std::size_t count,
              Table& part) const {
    const auto shuffled = unpack_shuffled(stored, shape.bytes());
    if (!shuffled) throw H5Error("a chunk of " + part.name + " does not have its checksum");
    for (std::size_t i = 0; i < slots.size(); ++i) {
      ColumnData& data = part.columns[i].data;
      data = values_from(data, slots[i].bytes, count, [&](char* values) {
        unshuffle_bytes(shuffled->data() + slots[i].offset * shape.rows, shape.rows, count,
                        slots[i].bytes, values);
      });
    }
  }
};

}  // namespace

void write_packed_table(hid_t parent, const Table& table, std::size_t chunk_rows) {
  const std::vector<Slot> slots = slots_of(table);
  const H5Type type = row_type(table, slots);
  const hsize_t rows = table.rows();
  const H5Space space(H5Screate_simple(1, &rows, nullptr), "make a space of rows");
  const std::size_t chunk = std::min<std::size_t>(rows, chunk_rows);
  const H5Properties properties =
      rows > 0 ? chunked_layout(chunk)
               : H5Properties(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  H5Dataset dataset(H5Dcreate2(parent, table.name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                               properties.get(), H5P_DEFAULT),
                    "create the table " + table.name);
  for (std::size_t first = 0; first < rows; first += chunk) {
    const RowSlice slice{first, std::min<std::size_t>(chunk, rows - first)};
    write_chunk(dataset.get(), first, pack_shuffled(shuffled_rows(table, slots, slice, chunk)),
                table.name);
  }
  write_attribute(dataset.get(), "meanings", meanings(table));
  dataset.close_checked("close the table " + table.name);
}

Table read_packed_table(hid_t parent, const std::string& name, int threads) {
  const OpenTable file(parent, name);
  Table table = file.described;
  file.for_each_part(threads, [&](Table& part, std::size_t first) {
    if (part.rows() == file.rows) return std::swap(table, part);
    for (std::size_t i = 0; i < part.columns.size(); ++i) {
      ColumnData& data = table.columns[i].data;
      if (first == 0) std::visit([&](auto& values) { values.reserve(file.rows); }, data);
      append_values(data, std::move(part.columns[i].data));
    }
  });
  return table;
}

bool packed_table_holds(hid_t parent, const Table& expected) {
  const OpenTable file(parent, expected.name);
  bool same = file.rows == expected.rows() && same_results(file.described, rows_in(expected, 0, 0));
  if (!same) return false;
  file.for_each_part(1, [&](const Table& part, std::size_t first) {
    same = same && same_results(part, rows_in(expected, first, part.rows()));
  });
  return same;
}

}  // namespace sweep
