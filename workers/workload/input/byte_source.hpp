#pragma once
// Private to this room.
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace workload {

/// A defect of the compressed bytes; the reader adds file and line.
struct DamagedInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` from its start; 0 bytes means the end. Returns the bytes before a defect first.
  virtual std::size_t read(std::span<char> out) = 0;
};

/// Decodes .gz.
std::unique_ptr<ByteSource> gzip_source(std::ifstream file);

/// Throws DamagedInput when compressed data expands further than kMostExpansion allows.
void check_expansion(const char* kind, std::uint64_t bytes_in, std::uint64_t bytes_out);

}  // namespace workload
