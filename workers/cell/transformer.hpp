#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "workers/model/weights.hpp"

namespace worker {

/// The model that a backend executes: shape, weights and storage types.
struct Transformer {
  model::ModelConfig config;
  std::string checkpoint;  // folder of a Hugging Face checkpoint; empty: random weights
  std::int64_t seed = 1;   // of random weights
  model::DType dtype = model::DType::bf16;  // weights, KV and, on a GPU, activations
  // cuda: the KV pool, and where attention reads the keys and values of a whole prompt
  double memory_utilization = 0.9;  // share of the device's memory; unused when kv_tokens is set
  std::int64_t kv_tokens = 0;       // positive: size of the KV pool in tokens
  bool contiguous_prefill = false;  // read a whole prompt's KV from the projection's output
  bool checks = false;  // checksums of copies, poisoned new blocks, check for NaN after every layer
};

/// Opens the checkpoint, or creates the source of random weights. Throws engine::InputError.
inline std::unique_ptr<model::WeightSource> open_weights(const Transformer& transformer) {
  if (!transformer.checkpoint.empty())
    return model::open_checkpoint(transformer.checkpoint, transformer.config);
  return model::random_weights(transformer.config, static_cast<std::uint64_t>(transformer.seed));
}

/// Equal exactly for the same weights in the same types.
inline std::string weights_key(const Transformer& transformer) {
  const std::string source =
      transformer.checkpoint.empty() ? open_weights(transformer)->digest() : transformer.checkpoint;
  return transformer.config.shape.name + ' ' + source + ' ' + model::to_text(transformer.dtype);
}

}  // namespace worker
