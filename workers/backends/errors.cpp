#include "workers/backends/errors.hpp"

#include <iomanip>
#include <sstream>

namespace backends {
namespace {

std::string in_hex(std::uint64_t checksum) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(16) << checksum;
  return text.str();
}

std::string layer_text(int layer) {
  if (layer == NotFinite::kUnknown) return "a layer";
  if (layer == NotFinite::kEmbedding) return "the embedding";
  if (layer == NotFinite::kHead) return "the output head";
  return "layer " + std::to_string(layer);
}

}  // namespace

CorruptBlock::CorruptBlock(engine::BlockId block, const std::string& where,
                           std::uint64_t expected_checksum, std::uint64_t found_checksum)
    : std::runtime_error("KV block " + std::to_string(index(block)) + " (" + where +
                         ") is corrupt: expected checksum " + in_hex(expected_checksum) +
                         ", found " + in_hex(found_checksum)) {}

UncheckedCopy::UncheckedCopy(engine::BlockId block, const std::string& where)
    : std::runtime_error("KV block " + std::to_string(index(block)) + " (" + where +
                         ") is reported copied without a checksum of what arrived") {}

NotFinite::NotFinite(std::uint64_t step, int layer, engine::RequestId request, int position)
    : std::runtime_error("step " + std::to_string(step) + ": " + layer_text(layer) +
                         " gives NaN or infinity at position " + std::to_string(position) +
                         " of request " + std::to_string(index(request))) {}

}  // namespace backends
