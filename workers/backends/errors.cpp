#include "workers/backends/errors.hpp"

#include <iomanip>
#include <sstream>

namespace backends {
namespace {

std::string corrupt_text(engine::BlockId block, const std::string& where, std::uint64_t expected,
                         std::uint64_t found) {
  std::ostringstream text;
  text << "KV block " << index(block) << " (" << where << ") is corrupt: expected checksum "
       << std::hex << std::setfill('0') << std::setw(16) << expected << ", found " << std::setw(16)
       << found;
  return text.str();
}

std::string layer_text(int layer) {
  if (layer == NotFinite::kUnknown) return "a layer";
  if (layer == NotFinite::kEmbedding) return "the embedding";
  if (layer == NotFinite::kHead) return "the output head";
  return "layer " + std::to_string(layer);
}

}  // namespace

CorruptBlock::CorruptBlock(engine::BlockId block_, const std::string& where,
                           std::uint64_t expected_, std::uint64_t found_)
    : std::runtime_error(corrupt_text(block_, where, expected_, found_)),
      block(block_),
      expected(expected_),
      found(found_) {}

UncheckedCopy::UncheckedCopy(engine::BlockId block_, const std::string& where)
    : std::runtime_error("KV block " + std::to_string(index(block_)) + " (" + where +
                         ") is reported copied without a checksum of what arrived"),
      block(block_) {}

NotFinite::NotFinite(std::uint64_t step_, int layer_, engine::RequestId request_, int position_)
    : std::runtime_error("step " + std::to_string(step_) + ": " + layer_text(layer_) +
                         " gives NaN or infinity at position " + std::to_string(position_) +
                         " of request " + std::to_string(index(request_))),
      step(step_),
      layer(layer_),
      request(request_),
      position(position_) {}

}  // namespace backends
