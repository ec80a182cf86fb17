#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// The counts of a trace's contents.
struct TraceCounts {
  std::int64_t jobs = 0, turns = 0, prompt_tokens = 0, answer_tokens = 0;
  std::int64_t arrivals = 0, gaps = 0, starts = 0;
};

/// By their names in the first line.
inline constexpr std::array<std::pair<const char*, std::int64_t TraceCounts::*>, 7> kCounts = {
    {{"jobs", &TraceCounts::jobs},
     {"turns", &TraceCounts::turns},
     {"prompt_tokens", &TraceCounts::prompt_tokens},
     {"answer_tokens", &TraceCounts::answer_tokens},
     {"arrivals", &TraceCounts::arrivals},
     {"gaps", &TraceCounts::gaps},
     {"starts", &TraceCounts::starts}}};

/// The first line of a trace, such as {"kvsweep_trace": 1, "counts": {...}, ...}: docs/traces.md.
struct TraceHead {
  static constexpr int kVersion = 1;
  TraceCounts counts;
  std::string tokenizer;  // for people
  std::vector<std::string> assumed;
  std::vector<std::string> notes;  // what the trace was made of, what was left out and assumed
};

/// The first line that `lines` has. Throws engine::InputError with its place.
TraceHead read_head(LineReader& lines);

}  // namespace workload
