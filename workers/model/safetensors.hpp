#pragma once
// The safetensors format (github.com/huggingface/safetensors): the length of the header as 8 bytes,
// little-endian; the header, a JSON object that maps names of tensors to dtype, shape and
// data_offsets [begin, end), counted from the header's end; the values, row-major and
// little-endian. Tensors neither overlap nor leave gaps. The key __metadata__ holds free-form
// metadata.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace model {

struct StoredTensor {
  std::string dtype;  // as the format names it: F32, BF16, I64, ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // in the file, at any alignment
};

/// The tensors of a file in memory, by name. `file` is for messages. Safe on any input: throws
/// engine::InputError naming file, tensor, what was found and what was expected.
std::map<std::string, StoredTensor> parse_safetensors(std::span<const std::byte> bytes,
                                                      const std::string& file);

}  // namespace model
