#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "workers/model/weights.hpp"

namespace worker {

/// The model that a backend really executes: shape, weights and the types they are held in.
struct Transformer {
  model::ModelConfig config;
  std::string checkpoint;  // folder of a Hugging Face checkpoint; empty: random weights
  std::int64_t seed = 1;   // of random weights
  model::DType dtype = model::DType::bf16;  // weights, KV and, on a GPU, activations
  // cuda: the KV pool, and where attention reads the keys and values of a whole prompt
  double memory_utilization = 0.9;  // share of the device's memory, unless kv_tokens says
  std::int64_t kv_tokens = 0;       // positive: so many tokens
  bool contiguous_prefill = false;  // in the projection's output instead of the blocks
  bool checks = false;  // checksums of blocks, poisoned fresh blocks, NaN behind every layer
};

/// Opens the checkpoint, or makes the source of random weights. Throws engine::InputError.
std::unique_ptr<model::WeightSource> open_weights(const Transformer& transformer);

/// Equal exactly when the same weights lie in the same types.
std::string weights_key(const Transformer& transformer);

}  // namespace worker
