#pragma once
// Private to this room: SHA-256 with the processor's SHA instructions.
#include <array>
#include <cstddef>
#include <cstdint>

namespace sweep {

/// Whether this processor has instructions for SHA-256 (the SHA extensions of x86).
bool has_sha_instructions();

/// Adds `count` blocks of 64 bytes to the state (FIPS 180-4, 6.2.2) with these instructions.
/// `constants` are the 64 round constants.
void mix_blocks_by_instruction(std::array<std::uint32_t, 8>& state, const unsigned char* blocks,
                               std::size_t count, const std::uint32_t* constants);

}  // namespace sweep
