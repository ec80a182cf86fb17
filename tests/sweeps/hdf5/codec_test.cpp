#include "sweeps/hdf5/codec.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "sweeps/hdf5/h5_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

namespace {

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 256);
  return bytes;
}

/// Values that grow by a little, like times.
std::vector<double> times(std::size_t rows) {
  std::mt19937 random(3);
  std::vector<double> values;
  double t = 0;
  for (std::size_t i = 0; i < rows; ++i)
    values.push_back(t += static_cast<double>(random() % 1000) * 1e-6);
  return values;
}

Column column_of(ColumnData data) { return {"x", "s", "", false, {}, std::move(data)}; }

/// A file with one column in chunks of 64 rows, and what reads and writes it.
struct OneColumn {
  support::TempDir folder;
  H5File file = create_h5(folder.path() / "a.h5");
  H5Dataset dataset;

  OneColumn(const Column& column, std::size_t width)
      : dataset(create_column(file.get(), column, width, column.size(), 64)) {}

  ColumnData read(std::size_t first, std::size_t rows) const {
    return StoredTable("t", {stored_column(file.get(), "x")}).read_column("x", {first, rows}).data;
  }
  /// What HDF5's own filters read.
  std::string read_by_hdf5() const {
    const H5Type type(H5Dget_type(dataset.get()), "get the type");
    const H5Space space(H5Dget_space(dataset.get()), "get the space");
    const auto rows = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
    std::string bytes(rows * H5Tget_size(type.get()), '\0');
    h5_check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "read x");
    return bytes;
  }
  void write_by_hdf5(const void* bytes) {
    const H5Type type(H5Dget_type(dataset.get()), "get the type");
    h5_check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), "write x");
  }
  void write(const Column& column, std::size_t width) const {
    write_chunks(dataset.get(), 0, 64, pack_chunks(column, column.size(), width, 64), "x");
  }
};

}  // namespace

TEST_CASE("HDF5 reads the chunks that this program packs, of every width and length") {
  for (const std::size_t width : {1, 2, 4, 7, 8, 100}) {
    for (const std::size_t rows : {1, 63, 64, 65, 128, 1000}) {
      INFO(rows << " rows of " << width << " bytes");
      std::string bytes;
      for (const char byte : random_bytes(rows * width, 1)) bytes += byte == '\0' ? 'x' : byte;
      std::vector<std::string> texts;
      for (std::size_t row = 0; row < rows; ++row)
        texts.push_back(bytes.substr(row * width, width));
      const Column column = column_of(texts);
      OneColumn stored(column, width);
      stored.write(column, width);
      CHECK(stored.read_by_hdf5() == bytes);
      CHECK(stored.read(0, rows) == ColumnData(texts));
    }
  }
}

TEST_CASE("this program reads the chunks that HDF5 packs, from any row on") {
  const std::vector<double> values = times(1000);
  OneColumn stored(column_of(values), sizeof(double));
  stored.write_by_hdf5(values.data());
  for (const std::size_t first : {0, 1, 63, 64, 500}) {
    for (const std::size_t rows : {1, 64, 100, 499}) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      CHECK(stored.read(first, rows) ==
            ColumnData(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(rows))));
    }
  }
}

TEST_CASE("a chunk that was never written has nothing, to HDF5 and to this program") {
  const OneColumn stored(column_of(std::vector<double>(100, 1.0)), sizeof(double));
  const std::string bytes = stored.read_by_hdf5();
  double read = 0;
  std::memcpy(&read, bytes.data(), sizeof read);
  CHECK(std::isnan(read));
  CHECK(std::isnan(std::get<std::vector<double>>(stored.read(99, 1)).at(0)));
}

TEST_CASE("a chunk with a flipped bit, or of another size, does not unpack") {
  const std::string bytes = random_bytes(4096, 2);
  const std::string stored = pack_shuffled(bytes);
  CHECK(unpack_shuffled(stored, bytes.size()) == bytes);
  CHECK_FALSE(unpack_shuffled(stored, bytes.size() - 1));
  CHECK_FALSE(unpack_shuffled(stored, bytes.size() + 1));
  for (std::size_t at = 0; at < stored.size(); at += 17) {
    std::string damaged = stored;
    damaged[at] ^= 1;
    REQUIRE_FALSE(unpack_shuffled(damaged, bytes.size()));
  }
}

TEST_CASE("bytes that cannot be compressed fit as well, and nothing does") {
  for (const std::size_t size : {0, 1, 100, 70000, 2000000}) {
    const std::string bytes = random_bytes(size, 4);
    INFO(size << " bytes");
    CHECK(unpack_shuffled(pack_shuffled(bytes), size) == bytes);
    const std::string zeros(size, '\0');
    CHECK(unpack_shuffled(pack_shuffled(zeros), size) == zeros);
  }
}

TEST_CASE("a dataset with other filters, or without chunks, is refused") {
  support::TempDir folder;
  const H5File file = create_h5(folder.path() / "a.h5");
  const hsize_t rows = 10;
  const H5Space space(H5Screate_simple(1, &rows, nullptr), "make a space");
  const H5Properties plain(H5Pcreate(H5P_DATASET_CREATE), "make properties");
  const H5Properties gzip(H5Pcreate(H5P_DATASET_CREATE), "make properties");
  h5_check(H5Pset_chunk(gzip.get(), 1, &rows), "set chunks");
  h5_check(H5Pset_deflate(gzip.get(), 1), "set gzip");
  for (const auto& [name, layout] : {std::pair("plain", &plain), std::pair("gzip", &gzip)}) {
    const H5Dataset dataset(H5Dcreate2(file.get(), name, H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                       layout->get(), H5P_DEFAULT),
                            "create a dataset");
    CHECK_THROWS_AS(stored_column(file.get(), name), H5Error);
  }
}
