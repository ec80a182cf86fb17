#pragma once
#include <algorithm>
#include <map>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

namespace support {

/// Agents on a small pool, with and without a host tier.
inline const std::string kAgents = R"(schema = 1
[sweep]
name = "agents"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "cpu_offload"]
dram_gib = [8]
"workload.live" = [1, 12]
"workload.seed" = [1, 2, 3]
[engine]
kv_tokens = 40000
[workload]
kind = "swe_smith_like"
arrivals = "live"
jobs = 16
gap_s = 2.0
[sim]
cost_model = "kernels"
)";

inline Outcome search(const Program& program, std::vector<std::string> more = {},
                      const std::string& archive = "a.h5") {
  std::vector<std::string> words = {"capacity", "agents.toml", "--archive", archive};
  if (std::ranges::find(more, "--slo") == more.end())
    words.insert(words.end(), {"--slo", "ttft_p90=0.4,first_token_p90=10"});
  words.insert(words.end(), more.begin(), more.end());
  return program.run(words);
}

/// The rows of a table of CSV without quoted fields, by column.
inline std::vector<std::map<std::string, std::string>> csv_rows(const std::string& text) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, '\r'); lines.get()) {
    std::vector<std::string> fields;
    std::istringstream rest(line + ',');
    for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
    if (names.empty()) {
      names = fields;
      continue;
    }
    REQUIRE(fields.size() == names.size());
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
  }
  return rows;
}

}  // namespace support
