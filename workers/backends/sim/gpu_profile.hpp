#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "workers/model/shape.hpp"

namespace backends {

/// Rates of the host link for large copies in one direction alone, GB/s (10^9 bytes/s).
struct LinkRates {
  double pinned_h2d_gb_s = 0;
  double pinned_d2h_gb_s = 0;
  double pageable_h2d_gb_s = 0;
  double pageable_d2h_gb_s = 0;
  double duplex_factor = 1;  // share of its rate that each direction keeps while the other is busy
};

/// Memory model for a card without a published KV pool: pool = memory x utilization - weights -
/// overhead.
struct PoolModel {
  double utilization = 0;   // share of device memory that the engine may use
  double overhead_gib = 0;  // activations, workspaces, CUDA context, graphs
};

/// step = intercept + slope x scheduled tokens, as published.
struct PublishedFit {
  std::string model;
  double slope_us_per_token = 0;
  double intercept_ms = 0;
};

/// step = base + per token x scheduled tokens + per KV token x KV tokens read + per pair x
/// query-key pairs of prompts, fitted to steps of this engine, or of a server, on the card.
struct MeasuredFit {
  std::string model;
  double base_ms = 0;
  double token_us = 0;
  double kv_token_ns = 0;
  double pair_ps = 0;
  // A server's alone. A turn waits so long between client and scheduler (HTTP, tokenizer); with a
  // host tier a step takes so much longer, and so much for each block whose load began before it.
  double request_ms = 0;
  double tier_step_us = 0;
  double load_block_us = 0;
  std::string kernels_digest{};  // of the kernels that ran; empty: not known
  bool is_older = false;         // than the kernels of this program
  std::string server{};          // whose steps they are; empty: this engine's
};

/// Constants of the `kernels` cost model; docs/engine.md has the formulas.
struct KernelFit {
  bool estimated = true;  // not fitted to measurements of this card
  std::string model;      // the measured model shape
  int gemm_norm = 2;      // 1, 2, 4 or 8: how sharply a GEMM turns from bandwidth to FLOP bound
  double gemm_launch_us = 0;
  double gemm_gb_s = 0;
  double gemm_tflops = 0;
  double prefill_launch_us = 0;  // per layer
  double prefill_token_ns = 0;   // per token and layer, with 32 query heads
  double prefill_tflops = 0;
  double decode_launch_us = 0;  // per layer
  double decode_row_ns = 0;     // per sequence and layer, with 8 KV heads
  double decode_gb_s = 0;
  double step_overhead_us = 0;  // host time of a step that the device waits for
  bool operator==(const KernelFit&) const = default;
};

/// A GPU model with its memory size. Plain data, read from sweeps/gpus/NAME.toml.
struct GpuProfile {
  std::string name;
  std::string name_pattern;  // regular expression for the whole NVML or CUDA device name
  std::string form_factor;   // "sxm", "pcie" or "superchip"
  double power_limit_w = 0;
  double price_per_hour = 0;    // USD; 0: the profile has none
  std::int64_t memory_mib = 0;  // nominal, as NVML reports it
  std::int64_t memory_min_mib = 0;
  std::int64_t memory_max_mib = 0;  // NVML's and CUDA's totals differ, hence a range
  double hbm_gb_s = 0;              // datasheet
  double bf16_tflops = 0;           // datasheet, dense
  LinkRates link;
  PoolModel pool;
  std::map<std::string, std::int64_t> kv_tokens;  // model -> published pool, whole 16-token blocks
  std::optional<PublishedFit> published;
  std::optional<MeasuredFit> measured;
  std::map<std::string, MeasuredFit> servers;  // by name and scheduling, "vllm 0.26.async"
  KernelFit kernels;
};

/// Factors on the constants of a profile from which step and copy times come.
struct CostScale {
  double fixed = 1;  // constants of a step: intercepts, launches, host time
  double token = 1;  // constants by token, KV read and byte
  double link = 1;   // copies over the host link
};
GpuProfile scaled(GpuProfile gpu, const CostScale& scale);

/// Whether a device with this NVML or CUDA name and total memory is a card of this profile.
bool is_device(const GpuProfile& gpu, const std::string& device_name, std::int64_t memory_mib);

/// Tokens of KV that fit on the card beside the model, in whole 16-token blocks: the published pool
/// if there is one, or what its bytes hold of fp8, otherwise by the memory model. 0 when the
/// weights leave no room.
std::int64_t kv_pool_tokens(const GpuProfile& gpu, const model::ModelShape& shape);

}  // namespace backends
