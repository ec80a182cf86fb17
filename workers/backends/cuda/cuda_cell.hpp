#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "workers/backends/access_log.hpp"
#include "workers/backends/cuda/device/host_memory.hpp"
#include "workers/backends/cuda/device/pool_plan.hpp"
#include "workers/engine/step/backend.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace backends {

/// Where attention reads the keys and values of a whole prompt: from its blocks, or from the rows
/// that the projection has just written. Chunks and decodes always read blocks.
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
  bool fp8_kv = false;  // KV of e4m3 with scale 1, otherwise of the weights' type; paged alone
  /// Replay decode-only steps as a graph of their kernels; otherwise launch kernels one by one.
  bool graphs = true;
  /// Measure the algorithms of matrix products that the device's table lacks; otherwise leave the
  /// choice to the library.
  bool tune = false;
  /// Poison blocks when they are allocated and before they are loaded, and compare checksums of
  /// loads and stores (CorruptBlock).
  bool debug = false;
  std::optional<AccessLogOptions> access_log = {};  // of the KV cache; empty: no log
  /// Returning true skips the first block of a batch, so that tests can show that this is detected.
  std::function<bool(engine::CopyId)> skip_copy;
};

/// Breakdown of the time of steps, in seconds.
struct StepCost {
  std::int64_t steps = 0;
  double prepare = 0;  // host: arrays of the step
  double launch = 0;   // host: enqueuing the copy and kernels
  double device = 0;   // from the copy of the arrays to the sampled ids
  double wait = 0;     // host: from the last launch until the sampled ids arrive
};

/// One cell's resources on a device: steps, KV pool and copies to the host tier. Ends with the
/// cell; weights and host memory stay with the device.
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
  /// Null without an access log.
  virtual AccessLogger* access_log() = 0;
};

}  // namespace backends
