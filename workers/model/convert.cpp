#include "workers/model/convert.hpp"

#include <cstring>

namespace model {
namespace {

struct F32 {
  using Bits = float;
  static float value(Bits bits) { return bits; }
  static Bits bits(float value) { return value; }
};
struct Bf16 {
  using Bits = std::uint16_t;
  static float value(Bits bits) { return from_bf16(bits); }
  static Bits bits(float value) { return to_bf16(value); }
};
struct F16 {
  using Bits = std::uint16_t;
  static float value(Bits bits) { return from_f16(bits); }
  static Bits bits(float value) { return to_f16(value); }
};

template <class From, class To>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) {
  using Source = typename From::Bits;
  using Target = typename To::Bits;
  const std::size_t count = in.size() / sizeof(Source);
  for (std::size_t i = 0; i < count; ++i) {
    Source source;
    std::memcpy(&source, in.data() + i * sizeof(Source), sizeof(Source));
    const Target target = To::bits(From::value(source));
    std::memcpy(out.data() + i * sizeof(Target), &target, sizeof(Target));
  }
}

template <class From>
void convert_from(std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  switch (to) {
    case DType::f32:
      return convert_all<From, F32>(in, out);
    case DType::bf16:
      return convert_all<From, Bf16>(in, out);
    case DType::f16:
      return convert_all<From, F16>(in, out);
  }
}

}  // namespace

void convert(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  if (from == to) {
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  switch (from) {
    case DType::f32:
      return convert_from<F32>(in, to, out);
    case DType::bf16:
      return convert_from<Bf16>(in, to, out);
    case DType::f16:
      return convert_from<F16>(in, to, out);
  }
}

}  // namespace model
