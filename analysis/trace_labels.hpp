#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/json_line.hpp"
#include "sweeps/result.hpp"

namespace analysis {

/// What the notes of a cell tell a trace.
struct TraceLabels {
  explicit TraceLabels(const std::vector<sweep::Note>& notes);

  std::string policy, cell, connector;  // empty: not known
  std::int32_t block_size = 0;          // in tokens; 0: not known
};

/// "name":"text", or nothing at all for a label that is not known.
void add_label(JsonLine& line, std::string_view name, const std::string& text);

}  // namespace analysis
