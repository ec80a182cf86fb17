#include "kernels/number.hpp"

#include <cmath>
#include <limits>

#include "tests/kernels/values.hpp"

using namespace kernels;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The nearest number with `mantissa_bits` explicit bits, normal from 2^least_exponent on, computed
/// in double, where every intermediate is exact.
double nearest(float x, int mantissa_bits, int least_exponent) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 1, least_exponent) - mantissa_bits);
  return std::nearbyint(x / unit) * unit;
}

template <class T>
float rounded(float x) {
  return to_float(from_float<T>(x));
}

/// Floats of every exponent, and those half-way between two numbers with `mantissa_bits` bits.
template <class Check>
void for_floats(int mantissa_bits, Check check) {
  kernel_test::Values values(1);
  const std::uint32_t half = 1u << (22 - mantissa_bits);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int i = 0; i < 200; ++i) {
      const auto mantissa = static_cast<std::uint32_t>(values.below(1 << 23));
      const std::uint32_t tie = (mantissa & ~(2 * half - 1)) | half;
      for (const std::uint32_t m : {mantissa, tie, tie - 1, tie + 1})
        for (const std::uint32_t sign : {0u, 1u << 31})
          check(float_of(sign | exponent << 23 | (m & 0x7fffffu)));
    }
  }
}

}  // namespace

TEST_CASE("bfloat16 is the nearest number, ties to even", "[number]") {
  int wrong = 0;
  for_floats(7, [&](float x) {
    const double expected = nearest(x, 7, -126);
    const double greatest = 0x1.FEp127;
    const bool overflows = std::abs(expected) > greatest;
    wrong += rounded<Bf16>(x) != (overflows ? std::copysign(kInfinity, x) : expected);
  });
  CHECK(wrong == 0);
}

TEST_CASE("float16 is the nearest number, ties to even, subnormals included", "[number]") {
  int wrong = 0;
  for_floats(10, [&](float x) {
    const double expected = nearest(x, 10, -14);
    const bool overflows = std::abs(expected) > 65504;
    wrong += rounded<F16>(x) != (overflows ? std::copysign(kInfinity, x) : expected);
  });
  CHECK(wrong == 0);
}

TEST_CASE("E4M3 is the nearest number, ties to even, subnormals included, and at most 448",
          "[number]") {
  int wrong = 0;
  for_floats(3, [&](float x) {
    const double expected = nearest(x, 3, -6);
    wrong += rounded<E4m3>(x) != (std::abs(expected) > 448 ? std::copysign(448, x) : expected);
  });
  CHECK(wrong == 0);
  CHECK(rounded<E4m3>(-kInfinity) == -448);
  CHECK(std::isnan(rounded<E4m3>(kNaN)));
  CHECK(std::signbit(rounded<E4m3>(-0.f)));
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const E4m3 byte{static_cast<std::uint8_t>(bits)};
    CHECK(from_float<E4m3>(to_float(byte)).bits == bits);
  }
}

TEST_CASE("every 16-bit number survives the way through float32", "[number]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float b = to_float(Bf16{half}), f = to_float(F16{half});
    wrong += std::isnan(b) ? !std::isnan(rounded<Bf16>(b)) : from_float<Bf16>(b).bits != half;
    wrong += std::isnan(f) ? !std::isnan(rounded<F16>(f)) : from_float<F16>(f).bits != half;
  }
  CHECK(wrong == 0);
}

TEST_CASE("infinities, signed zeros and NaN keep what they are in every format", "[number]") {
  const auto keeps = [](auto round) {
    CHECK(round(kInfinity) == kInfinity);
    CHECK(round(-kInfinity) == -kInfinity);
    CHECK(std::signbit(round(-0.f)));
    CHECK_FALSE(std::signbit(round(0.f)));
    CHECK(std::isnan(round(kNaN)));
    CHECK(std::isnan(round(float_of(0x7f800001u))));
  };
  keeps(rounded<float>);
  keeps(rounded<Bf16>);
  keeps(rounded<F16>);
}
