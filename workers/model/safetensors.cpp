#include "workers/model/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "workers/engine/base/errors.hpp"
#include "workers/model/json_fields.hpp"

namespace model {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read as they are stored");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the safetensors library

const std::map<std::string, std::uint64_t> kElementBytes = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw engine::InputError(file + ": " + what);
}

std::string header_text(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes)
    refuse(file, "is truncated: found " + std::to_string(bytes.size()) +
                     " bytes, expected at least the 8 of the header's length");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const std::uint64_t most = std::min<std::uint64_t>(bytes.size() - kLengthBytes, kLongestHeader);
  if (length > most)
    refuse(file, "the header's length is beyond the file or its limit: found " +
                     std::to_string(length) + ", expected at most " + std::to_string(most));
  return {reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length};
}

/// One tensor of the header, validated by itself.
class Entry {
 public:
  Entry(const std::string& file, const std::string& name, const json& value)
      : place_(file + ": tensor " + shown(name)), value_(value) {
    if (!value_.is_object()) fail(value_, "an object of dtype, shape and data_offsets");
  }

  StoredTensor tensor(std::span<const std::byte> data) const {
    StoredTensor tensor;
    tensor.dtype = dtype();
    tensor.shape = shape(data.size());
    const auto [begin, end] = offsets(data.size());
    std::uint64_t bytes = kElementBytes.at(tensor.dtype);
    for (const std::int64_t dimension : tensor.shape)
      bytes *= static_cast<std::uint64_t>(dimension);
    if (end - begin != bytes)
      fail(value_["data_offsets"], "a difference of " + std::to_string(bytes) +
                                       " bytes, the size of " + tensor.dtype + " " +
                                       shown(value_["shape"]));
    tensor.bytes = data.subspan(begin, bytes);
    return tensor;
  }

 private:
  [[noreturn]] void fail(const json& found, const std::string& expected) const {
    throw engine::InputError(place_ + ": found " + shown(found) + ", expected " + expected);
  }
  const json& member(const char* key, bool (json::*is_type)() const noexcept,
                     const std::string& expected) const {
    const auto found = value_.find(key);
    if (found == value_.end() || !((*found).*is_type)())
      fail(value_, std::string(key) + ", " + expected);
    return *found;
  }
  std::string dtype() const {
    const json& name = member("dtype", &json::is_string, "a string");
    if (kElementBytes.count(name.get<std::string>()) == 0)
      fail(name, "a dtype such as \"F32\", \"BF16\" or \"F16\"");
    return name.get<std::string>();
  }
  /// Refuses dimensions and products of dimensions above `most`, so nothing overflows later.
  std::vector<std::int64_t> shape(std::uint64_t most) const {
    const json& list = member("shape", &json::is_array, "an array of dimensions");
    std::vector<std::int64_t> dimensions;
    std::uint64_t product = 1;
    for (const json& dimension : list) {
      if (!dimension.is_number_unsigned()) fail(list, "dimensions that are not negative");
      const auto size = dimension.get<std::uint64_t>();
      if (size > most || (size != 0 && product > most / size))
        fail(list, "a shape that fits into the file's " + std::to_string(most) + " bytes of data");
      product *= std::max<std::uint64_t>(size, 1);
      dimensions.push_back(static_cast<std::int64_t>(size));
    }
    return dimensions;
  }
  std::pair<std::uint64_t, std::uint64_t> offsets(std::uint64_t end_of_data) const {
    const json& pair = member("data_offsets", &json::is_array, "two offsets");
    if (pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned())
      fail(pair, "two offsets that are not negative");
    const auto begin = pair[0].get<std::uint64_t>(), end = pair[1].get<std::uint64_t>();
    if (begin > end || end > end_of_data)
      fail(pair, "rising data_offsets of at most " + std::to_string(end_of_data) +
                     ", the bytes of data in the file");
    return {begin, end};
  }

  std::string place_;
  const json& value_;
};

/// Checks that tensors are adjacent, from the first byte of data to the last.
void check_order(const std::map<std::string, StoredTensor>& tensors,
                 std::span<const std::byte> data, const std::string& file) {
  struct Range {
    std::int64_t begin, end;
    const std::string* name;
  };
  std::vector<Range> ranges;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t begin = tensor.bytes.data() - data.data();
    ranges.push_back({begin, begin + std::ssize(tensor.bytes), &name});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t expected = 0;
  for (const Range& range : ranges) {
    if (range.begin != expected)
      refuse(file, "tensor " + shown(*range.name) +
                       (range.begin < expected ? " overlaps" : " leaves a gap behind") +
                       " the one before: found data at " + std::to_string(range.begin) +
                       ", expected " + std::to_string(expected));
    expected = range.end;
  }
  if (expected != std::ssize(data))
    refuse(file, "found " + std::to_string(data.size()) + " bytes of data, expected " +
                     std::to_string(expected) + ", the end of the last tensor");
}

}  // namespace

std::map<std::string, StoredTensor> parse_safetensors(std::span<const std::byte> bytes,
                                                      const std::string& file) {
  const std::string header = header_text(bytes, file);
  const json entries = parse_object(header, file + " (header)");
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header.size());
  std::map<std::string, StoredTensor> tensors;
  for (const auto& [name, value] : entries.items())
    if (name != "__metadata__") tensors[name] = Entry(file, name, value).tensor(data);
  check_order(tensors, data, file);
  return tensors;
}

}  // namespace model
