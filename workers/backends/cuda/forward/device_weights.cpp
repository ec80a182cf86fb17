#include "workers/backends/cuda/forward/device_weights.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <vector>

#include "kernels/layers/layers.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends::cuda {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{64} << 20;

/// Copies pageable host memory to the device through two page-locked buffers: one is filled while
/// the other is copied.
class Staging {
 public:
  void copy(std::byte* device, const std::vector<std::byte>& host) {
    for (std::size_t at = 0; at < host.size(); at += kStagingBytes) {
      Lane& lane = lanes_[next_++ % lanes_.size()];
      const std::size_t bytes = std::min(kStagingBytes, host.size() - at);
      lane.through.synchronize();
      std::memcpy(lane.memory.data(), host.data() + at, bytes);
      check(cudaMemcpyAsync(device + at, lane.memory.data(), bytes, cudaMemcpyHostToDevice,
                            stream_.get()),
            "copying weights");
      lane.through.record(stream_);
    }
  }
  void finish() { stream_.synchronize(); }

 private:
  struct Lane {
    PinnedBuffer memory{kStagingBytes};
    Event through;
  };
  Stream stream_;
  std::array<Lane, 2> lanes_;
  std::size_t next_ = 0;
};

}  // namespace

kernels::gpu::Type kernel_type(model::DType type) {
  switch (type) {
    case model::DType::bf16:
      return kernels::gpu::Type::bf16;
    case model::DType::f16:
      return kernels::gpu::Type::f16;
    case model::DType::f32:
    case model::DType::e4m3:  // of KV alone
      break;
  }
  throw engine::InputError("the cuda backend computes in bfloat16 or float16, found float32");
}

DeviceWeights::DeviceWeights(const model::ModelConfig& config, const WeightOrigin& origin)
    : config_(config), layout_(model::weight_layout(config, config.dtype)) {
  kernel_type(config.dtype);
  memory_ = DeviceBuffer(static_cast<std::size_t>(layout_.bytes));
  report_.bytes = layout_.bytes;
  if (!origin.group || origin.group->rank == 0) fill(origin);
  if (origin.group && origin.group->size > 1)
    report_.broadcast = nccl_broadcast(*origin.group, memory_.data(), layout_.bytes);
}

const void* DeviceWeights::at(int parameter) const {
  if (parameter < 0) return nullptr;
  return memory_.data() + layout_.parameters[static_cast<std::size_t>(parameter)].offset;
}

void DeviceWeights::fill(const WeightOrigin& origin) {
  const engine::WallClock clock;
  if (origin.seed) {
    make_random(*origin.seed);
  } else {
    read(origin.source);
  }
  report_.seconds = engine::to_seconds(clock.now());
}

void DeviceWeights::make_random(std::uint64_t seed) {
  const Stream stream;
  for (std::size_t i = 0; i < layout_.parameters.size(); ++i) {
    const model::Parameter& parameter = layout_.parameters[i];
    std::byte* const out = memory_.data() + parameter.offset;
    if (parameter.kind == model::Parameter::Kind::norm_weight) {
      kernels::gpu::fill_constant(type(), out, parameter.elements(), 1, stream.get());
      continue;
    }
    kernels::gpu::fill_random({.type = type(),
                               .elements = parameter.elements(),
                               .seed = seed,
                               .parameter = static_cast<std::uint32_t>(i),
                               .amplitude = model::random_amplitude(parameter, config_),
                               .out = out},
                              stream.get());
  }
  stream.synchronize();
}

/// Reads a parameter while the previous one is copied.
void DeviceWeights::read(const model::WeightSource& source) {
  const auto load = [&](std::size_t i) {
    const model::Parameter& parameter = layout_.parameters[i];
    std::vector<std::byte> values(
        static_cast<std::size_t>(parameter.elements() * size_of(config_.dtype)));
    source.read(parameter, config_.dtype, values);
    return values;
  };
  Staging staging;
  std::future<std::vector<std::byte>> next;
  for (std::size_t i = 0; i < layout_.parameters.size(); ++i) {
    const std::vector<std::byte> values = next.valid() ? next.get() : load(i);
    if (i + 1 < layout_.parameters.size()) next = std::async(std::launch::async, load, i + 1);
    staging.copy(memory_.data() + layout_.parameters[i].offset, values);
  }
  staging.finish();
}

}  // namespace backends::cuda
