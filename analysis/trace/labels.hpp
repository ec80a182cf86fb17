#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/text/json_line.hpp"
#include "sweeps/tables/result.hpp"

namespace analysis {

/// The notes of a cell that a trace uses.
struct TraceLabels {
  explicit TraceLabels(const std::vector<sweep::Note>& notes);

  std::string policy, cell, connector;  // empty: unknown
  std::int32_t block_size = 0;          // in tokens; 0: unknown
};

/// Writes "name":"text", or nothing for an unknown label.
void add_label(JsonLine& line, std::string_view name, const std::string& text);

}  // namespace analysis
