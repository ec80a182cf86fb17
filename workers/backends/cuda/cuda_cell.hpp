#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "workers/backends/access_log.hpp"
#include "workers/backends/copy_log.hpp"
#include "workers/backends/cuda/host_memory.hpp"
#include "workers/backends/cuda/pool_plan.hpp"
#include "workers/engine/backend.hpp"
#include "workers/engine/block_copier.hpp"

namespace backends {

/// Where attention reads the keys and values of a whole prompt: in its blocks, or in the rows that
/// the projection has just written. Chunks and decodes always read blocks.
enum class PrefillAttention : std::uint8_t { paged, contiguous };

struct CudaCellOptions {
  int block_size = 16;            // tokens; a multiple of 8 up to 1024
  int max_batched_tokens = 2048;  // of a step
  int max_seqs = 256;             // of a step
  int max_model_len = 16384;      // tokens
  PoolRequest pool;
  int host_slots = 0;       // blocks of the host tier; 0: no tier
  bool host_pinned = true;  // page-locked, otherwise pageable
  PrefillAttention prefill_attention = PrefillAttention::paged;
  /// Steps that only decode replay a graph of their kernels; otherwise they are launched one by
  /// one.
  bool graphs = true;
  /// The algorithms of matrix products are measured where the device's table lacks them; otherwise
  /// what it lacks is left to the library.
  bool tune = false;
  /// Blocks are poisoned when taken and before they are loaded; loads are held against stores by
  /// checksum (CorruptBlock).
  bool debug = false;
  std::optional<AccessLogOptions> access_log = {};  // of the KV cache; nothing: none
  /// True leaves the first block of a batch out: for tests that show that it would be noticed.
  std::function<bool(engine::CopyId)> skip_copy;
};

/// Where the time of steps went, seconds.
struct StepCost {
  std::int64_t steps = 0;
  double prepare = 0;  // host: arrays of the step
  double launch = 0;   // host: copy and kernels enqueued
  double device = 0;   // from the copy of the arrays to the sampled ids
  double wait = 0;     // host: from there until the sampled ids are there
};

/// One cell's share of a device: steps, KV pool and copies to the host tier. Ends with the cell,
/// whose weights and host memory stay with the device.
class CudaCell {
 public:
  virtual ~CudaCell() = default;
  virtual engine::Backend& backend() = 0;
  /// Null without a host tier.
  virtual engine::BlockCopier* copier() = 0;
  /// Null without a host tier.
  virtual HostMemory* host_memory() = 0;
  virtual const PoolPlan& pool() const = 0;
  virtual std::int64_t activation_bytes() const = 0;
  virtual const StepCost& steps() const = 0;
  /// Null without one.
  virtual AccessLogger* access_log() = 0;
  /// Copies to and from the host tier. Null without an access log or a tier.
  virtual CopyLog* copy_log() = 0;
  /// Waits for copies under way, so that the log holds them as well. Gives the window of its times:
  /// they are right within half of it.
  virtual engine::Nanos finish_copy_log() = 0;
};

}  // namespace backends
