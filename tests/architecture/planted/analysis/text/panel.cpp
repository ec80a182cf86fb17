#include "analysis/text/panel.hpp"

// std::map in a comment needs nothing, and std::string_view comes with <string>.
double widest(std::span<const std::string> labels) {
  std::optional<double> found;
  for (std::string_view label : labels) found = std::max(found.value_or(0.0), double(label.size()));
  const auto* last = "std::vector";
  return found ? std::sqrt(*found) : std::ranges::count(std::string(last), 'x');
}
