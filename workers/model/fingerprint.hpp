#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace model {

/// XXH64 of the bytes, after the xxHash specification, github.com/Cyan4973/xxHash/blob/dev/doc.
/// Fast and well mixed, but no protection against chosen collisions.
std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed);

/// XXH64 with the seeds 0 and 1, as 32 hexadecimal digits.
std::string fingerprint(std::span<const std::byte> bytes);
std::string fingerprint(std::string_view text);

}  // namespace model
