#include "tests/gpu/backend/late_stores.hpp"

#include <utility>

#include "workers/backends/cuda/device/errors.hpp"

namespace gpu_backend_test {

using engine::BlockCopy;
using engine::CopyDirection;

LateStores::LateStores(backends::cuda::CudaCopier& inner, const backends::cuda::BlockArena& arena,
                       backends::HostMemory& tier, Chosen chosen)
    : inner_(inner), arena_(arena), tier_(tier), chosen_(std::move(chosen)) {}

engine::CopyId LateStores::submit(CopyDirection direction, std::span<const BlockCopy> copies,
                                  engine::Nanos now) {
  for (const BlockCopy& copy : copies) {
    const auto late = late_.find(copy.slot);
    if (late == late_.end()) continue;
    if (direction == CopyDirection::load) copy_late({late->second, copy.slot});
    late_.erase(late);
  }
  const engine::CopyId id = inner_.submit(direction, copies, now);
  if (direction == CopyDirection::store && chosen_(id))
    for (const BlockCopy& copy : copies) late_[copy.slot] = copy.block;
  return id;
}

void LateStores::copy_late(const BlockCopy& copy) {
  const auto bytes = static_cast<std::size_t>(arena_.block_bytes);
  const std::byte* const block = arena_.data + static_cast<std::size_t>(index(copy.block)) * bytes;
  backends::cuda::check(cudaMemcpy(tier_.slot(copy.slot), block, bytes, cudaMemcpyDeviceToHost),
                        "copying a block late");
}

}  // namespace gpu_backend_test
