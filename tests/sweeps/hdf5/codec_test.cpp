#include "sweeps/hdf5/codec.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/column.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

namespace {

std::vector<char> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> bytes(size);
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

/// A file with one column, and what reads and writes it.
struct OneColumn {
  support::TempDir folder;
  H5File file = create_h5(folder.path() / "a.h5");
  H5Type type;
  H5Dataset dataset;

  OneColumn(const Column& column, std::size_t width, hsize_t rows, hsize_t chunk)
      : type(stored_type(column, width)), dataset(create(column, rows, chunk)) {}

  H5Dataset create(const Column& column, hsize_t rows, hsize_t chunk) {
    create_column(file.get(), column, type.get(), rows, chunk).close_checked("close x");
    return open_column(file.get(), column.name);
  }
  std::vector<char> read(hsize_t first, hsize_t rows) const {
    std::vector<char> bytes(rows * H5Tget_size(type.get()));
    read_rows(dataset.get(), type.get(), first, rows, bytes.data(), "x");
    return bytes;
  }
  /// What HDF5's own filters read.
  std::vector<char> read_by_hdf5(hsize_t rows) const {
    std::vector<char> bytes(rows * H5Tget_size(type.get()));
    h5_check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "read x");
    return bytes;
  }
  void write_by_hdf5(const void* bytes) {
    h5_check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), "write x");
  }
  void write(std::span<const char> bytes) const {
    const ChunkShape of = shape();
    for (hsize_t row = 0; !bytes.empty(); row += of.rows) {
      const auto chunk = bytes.first(std::min(bytes.size(), of.bytes()));
      write_chunk(dataset.get(), row, pack_chunk(of, chunk), "x");
      bytes = bytes.subspan(chunk.size());
    }
  }
  ChunkShape shape() const { return chunk_shape(dataset.get(), type.get()); }
};

}  // namespace

TEST_CASE("HDF5 reads the chunks that this program packs, of every width and length") {
  for (const std::size_t width : {1, 2, 4, 7, 8, 100}) {
    for (const hsize_t rows : {1, 63, 64, 65, 128, 1000}) {
      INFO(rows << " rows of " << width << " bytes");
      const std::vector<char> bytes = random_bytes(rows * width, 1);
      OneColumn stored(column_of(std::vector<std::string>()), width, rows, 64);
      stored.write(bytes);
      CHECK(stored.read_by_hdf5(rows) == bytes);
      CHECK(stored.read(0, rows) == bytes);
    }
  }
}

TEST_CASE("this program reads the chunks that HDF5 packs, from any row on") {
  const std::vector<double> values = times(1000);
  OneColumn stored(column_of(std::vector<double>()), 1, values.size(), 64);
  stored.write_by_hdf5(values.data());
  for (const hsize_t first : {0, 1, 63, 64, 500}) {
    for (const hsize_t rows : {1, 64, 100, 499}) {
      const auto read = stored.read(first, rows);
      CHECK(std::memcmp(read.data(), values.data() + first, rows * sizeof(double)) == 0);
    }
  }
}

TEST_CASE("rows beyond the last of a packed chunk are what a row is that was never written") {
  OneColumn stored(column_of(std::vector<double>()), 1, 3, 64);
  const std::vector<double> values = {1, 2, 3};
  stored.write({reinterpret_cast<const char*>(values.data()), 3 * sizeof(double)});
  resize(stored.dataset.get(), 5);
  for (const std::vector<char>& bytes : {stored.read_by_hdf5(5), stored.read(0, 5)}) {
    std::vector<double> read(5);
    std::memcpy(read.data(), bytes.data(), bytes.size());
    CHECK(read[2] == 3);
    CHECK(std::isnan(read[3]));
    CHECK(std::isnan(read[4]));
  }
}

TEST_CASE("a chunk with a flipped bit, or of another size, does not unpack") {
  const std::vector<char> bytes = random_bytes(4096, 2);
  const std::vector<unsigned char> stored = pack_shuffled(bytes);
  CHECK(unpack_shuffled(stored, bytes.size()) == bytes);
  CHECK_FALSE(unpack_shuffled(stored, bytes.size() - 1));
  CHECK_FALSE(unpack_shuffled(stored, bytes.size() + 1));
  for (std::size_t at = 0; at < stored.size(); at += 17) {
    std::vector<unsigned char> damaged = stored;
    damaged[at] ^= 1;
    REQUIRE_FALSE(unpack_shuffled(damaged, bytes.size()));
  }
}

TEST_CASE("bytes that cannot be compressed fit as well, and nothing does") {
  for (const std::size_t size : {0, 1, 100, 70000, 2000000}) {
    const std::vector<char> bytes = random_bytes(size, 4);
    INFO(size << " bytes");
    CHECK(unpack_shuffled(pack_shuffled(bytes), size) == bytes);
    const std::vector<char> zeros(size);
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
    CHECK_THROWS_AS(chunk_shape(dataset.get(), H5T_STD_I32LE), H5Error);
  }
}
