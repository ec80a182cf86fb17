#include "sweeps/files/sha256_blocks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace sweep {

namespace {

bool find_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool ssse3_sse41 =
      __get_cpuid(1, &a, &b, &c, &d) && (c >> 9 & 1) != 0 && (c >> 19 & 1) != 0;
  return ssse3_sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) != 0;
}

}  // namespace

bool has_sha_instructions() {
  static const bool kHas = find_sha_instructions();
  return kHas;
}

/// The instructions hold the eight words in two registers, a b e f and c d g h from the highest
/// lane down, and do two rounds at a time. One register holds four words of the schedule.
__attribute__((target("sha,sse4.1,ssse3"))) void mix_blocks_by_instruction(
    std::array<std::uint32_t, 8>& state, const unsigned char* blocks, std::size_t count,
    const std::uint32_t* constants) {
  const auto lane = [&state](std::size_t i) { return static_cast<int>(state[i]); };
  __m128i abef = _mm_set_epi32(lane(0), lane(1), lane(4), lane(5));
  __m128i cdgh = _mm_set_epi32(lane(2), lane(3), lane(6), lane(7));
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  for (; count > 0; --count, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[16];  // the schedule, four words each; round t uses word t
    for (std::size_t i = 0; i < 16; ++i) {
      if (i < 4) {
        const auto* bytes = reinterpret_cast<const __m128i*>(blocks) + i;
        words[i] = _mm_shuffle_epi8(_mm_loadu_si128(bytes), big_endian);
      } else {
        const __m128i seven_back = _mm_alignr_epi8(words[i - 1], words[i - 2], 4);
        const __m128i sum =
            _mm_add_epi32(_mm_sha256msg1_epu32(words[i - 4], words[i - 3]), seven_back);
        words[i] = _mm_sha256msg2_epu32(sum, words[i - 1]);
      }
      const auto* round = reinterpret_cast<const __m128i*>(constants) + i;
      const __m128i addends = _mm_add_epi32(words[i], _mm_loadu_si128(round));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, addends);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(addends, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const auto word = [](int value) { return static_cast<std::uint32_t>(value); };
  state = {word(_mm_extract_epi32(abef, 3)), word(_mm_extract_epi32(abef, 2)),
           word(_mm_extract_epi32(cdgh, 3)), word(_mm_extract_epi32(cdgh, 2)),
           word(_mm_extract_epi32(abef, 1)), word(_mm_extract_epi32(abef, 0)),
           word(_mm_extract_epi32(cdgh, 1)), word(_mm_extract_epi32(cdgh, 0))};
}

}  // namespace sweep

#else

namespace sweep {

bool has_sha_instructions() { return false; }
void mix_blocks_by_instruction(std::array<std::uint32_t, 8>&, const unsigned char*, std::size_t,
                               const std::uint32_t*) {}

}  // namespace sweep

#endif
