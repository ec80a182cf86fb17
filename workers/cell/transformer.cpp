#include "workers/cell/transformer.hpp"

namespace worker {

std::unique_ptr<model::WeightSource> open_weights(const Transformer& transformer) {
  if (!transformer.checkpoint.empty())
    return model::open_checkpoint(transformer.checkpoint, transformer.config);
  return model::random_weights(transformer.config, static_cast<std::uint64_t>(transformer.seed));
}

std::string weights_key(const Transformer& transformer) {
  const std::string source =
      transformer.checkpoint.empty() ? open_weights(transformer)->digest() : transformer.checkpoint;
  return transformer.config.shape.name + ' ' + source + ' ' + model::to_text(transformer.dtype);
}

}  // namespace worker
