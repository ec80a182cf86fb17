#include "analysis/text/deflate.hpp"

namespace analysis {

std::optional<std::vector<std::uint8_t>> deflated(std::span<const std::uint8_t>) {
  return std::nullopt;
}

}  // namespace analysis
