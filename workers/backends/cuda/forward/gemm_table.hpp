#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace backends::cuda {

/// The fastest measured algorithm of each matrix product on one kind of GPU, kept in a text file
/// between processes. An algorithm is 64 opaque bytes, which the same version of cublasLt accepts
/// again (cuBLAS documentation, "cublasLtMatmulAlgo_t").
class GemmTable {
 public:
  using Key = std::array<int, 6>;  // rows, n, k, y_stride, type of x and w, type of y
  using Algorithm = std::array<std::uint64_t, 8>;

  /// A table in memory alone.
  GemmTable() = default;
  /// Reads the file of this device and library in `folder`, if it exists. Throws engine::InputError
  /// for an invalid file.
  GemmTable(const std::filesystem::path& folder, const std::string& device,
            const std::string& library);

  std::optional<Algorithm> find(const Key& key) const;
  void insert(const Key& key, const Algorithm& algorithm);
  /// Writes new entries to the file; other processes never see a partial file. Throws
  /// engine::InputError when writing fails.
  void save();
  const std::filesystem::path& file() const { return file_; }
  std::size_t size() const { return algorithms_.size(); }

 private:
  void read();

  std::filesystem::path file_;  // empty: none
  std::string title_;           // its first line
  std::map<Key, Algorithm> algorithms_;
  bool changed_ = false;
};

}  // namespace backends::cuda
