
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/model/convert.hpp"

namespace {

float from_bf16(std::uint16_t bits) { return kernels::to_float(kernels::Bf16{bits}); }
float from_f16(std::uint16_t bits) { return kernels::to_float(kernels::F16{bits}); }
std::uint16_t to_bf16(float value) { return kernels::from_float<kernels::Bf16>(value).bits; }
std::uint16_t to_f16(float value) { return kernels::from_float<kernels::F16>(value).bits; }

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Value of a binary16 by its definition.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// The nearer of the two neighbors of the value; at equal distance the even one.
template <class Decode>
std::uint16_t nearest(float value, std::uint16_t below, Decode decode) {
  const auto above = static_cast<std::uint16_t>(below + 1);
  const double down = std::abs(value - decode(below)), up = std::abs(decode(above) - value);
  if (down == up) return below % 2 == 0 ? below : above;
  return down < up ? below : above;
}

float random_float(std::mt19937_64& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
}

}  // namespace

TEST_CASE("every half has the value that its definition gives, and comes back from float32") {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = from_f16(bits);
    if (std::isnan(half_value(bits))) {
      REQUIRE(std::isnan(value));
      REQUIRE(std::isnan(from_f16(to_f16(value))));
    } else {
      REQUIRE(value == half_value(bits));
      REQUIRE(to_f16(value) == bits);
    }
  }
}

TEST_CASE("every bfloat16 comes back from float32") {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = from_bf16(bits);
    if (std::isnan(value))
      REQUIRE(std::isnan(from_bf16(to_bf16(value))));
    else
      REQUIRE(to_bf16(value) == bits);
  }
}

TEST_CASE("float32 rounds to the nearest bfloat16, ties to even") {
  CHECK(to_bf16(1.00390625f) == 0x3f80);  // halfway between 1 and 1.0078125
  CHECK(to_bf16(1.01171875f) == 0x3f82);  // halfway, the even one is above
  CHECK(to_bf16(3.4e38f) == 0x7f80);      // beyond the largest
  std::mt19937_64 random(1);
  for (int i = 0; i < support::scaled(200'000); ++i) {
    const float value = std::abs(random_float(random));
    if (!(value < 3e38f)) continue;
    const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    CAPTURE(value);
    REQUIRE(to_bf16(value) == nearest(value, below, from_bf16));
    REQUIRE(to_bf16(-value) == (to_bf16(value) | 0x8000));
  }
}

TEST_CASE("float32 rounds to the nearest half, ties to even, through subnormals to zero") {
  CHECK(to_f16(65519.99f) == 0x7bff);
  CHECK(to_f16(65520.0f) == 0x7c00);  // infinity
  CHECK(to_f16(-kInfinity) == 0xfc00);
  CHECK(to_f16(std::ldexp(1.0f, -25)) == 0);  // halfway to the smallest subnormal
  CHECK(to_f16(std::ldexp(1.01f, -25)) == 1);
  CHECK(to_f16(-0.0f) == 0x8000);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<float> exponent(-27, 16);
  for (int i = 0; i < support::scaled(200'000); ++i) {
    const float value = std::exp2(exponent(random));
    if (value >= 65504) continue;
    std::uint16_t below = 0;  // halves are in the order of their bits
    for (std::uint16_t step = 0x4000; step > 0; step /= 2)
      if (half_value(static_cast<std::uint16_t>(below + step)) <= value)
        below = static_cast<std::uint16_t>(below + step);
    CAPTURE(value);
    REQUIRE(to_f16(value) == nearest(value, below, half_value));
  }
}

TEST_CASE("arrays convert between all types at any alignment") {
  using model::DType;
  const std::vector<float> exact = {0, 1, -2.5f, 0.125f, 240};
  for (const DType from : {DType::f32, DType::bf16, DType::f16})
    for (const DType to : {DType::f32, DType::bf16, DType::f16}) {
      CAPTURE(model::to_text(from), model::to_text(to));
      const auto bytes = [&](DType type) {
        return exact.size() * std::size_t(model::size_of(type));
      };
      std::vector<std::byte> source(bytes(from) + 1), target(bytes(to) + 1);
      const auto in = std::span(source).subspan(1), out = std::span(target).subspan(1);
      std::vector<float> back(exact.size());
      model::convert(DType::f32, std::as_bytes(std::span(exact)), from, in);
      model::convert(from, in, to, out);
      model::convert(to, out, DType::f32, std::as_writable_bytes(std::span(back)));
      CHECK(back == exact);
    }
}
