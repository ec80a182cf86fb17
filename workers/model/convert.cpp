#include "workers/model/convert.hpp"

#include <cstring>

namespace model {
namespace {

template <class Source, class Target>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t count = in.size() / sizeof(Source);
  for (std::size_t i = 0; i < count; ++i) {
    Source source;
    std::memcpy(&source, in.data() + i * sizeof source, sizeof source);
    const Target target = kernels::from_float<Target>(kernels::to_float(source));
    std::memcpy(out.data() + i * sizeof target, &target, sizeof target);
  }
}

}  // namespace

void convert(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  if (from == to) {
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  with_scalar(from, [&](auto source) {
    with_scalar(to, [&](auto target) { convert_all<decltype(source), decltype(target)>(in, out); });
  });
}

}  // namespace model
