#pragma once
#include <functional>
#include <map>

#include "workers/backends/cuda/cuda_copier.hpp"

namespace gpu_backend_test {

/// A copier that makes chosen stores behave as if their blocks were reused before they were copied:
/// a slot gets the content that its block has when the slot is loaded. Checksums are still those of
/// the block's content when the store was submitted.
class LateStores final : public engine::BlockCopier {
 public:
  using Chosen = std::function<bool(engine::CopyId)>;

  /// `inner` and `tier` are borrowed; the three belong together.
  LateStores(backends::cuda::CudaCopier& inner, const backends::cuda::BlockArena& arena,
             backends::HostMemory& tier, Chosen chosen);

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override;
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override {
    inner_.poll(now, done);
  }
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  void wait() override { inner_.wait(); }

 private:
  void copy_late(const engine::BlockCopy& copy);

  backends::cuda::CudaCopier& inner_;
  backends::cuda::BlockArena arena_;
  backends::HostMemory& tier_;
  Chosen chosen_;
  std::map<engine::HostSlot, engine::BlockId> late_;
};

}  // namespace gpu_backend_test
