#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "workers/workload/trajectory.hpp"

namespace workload {

/// Percentiles interpolate linearly between the two nearest ranks. All zero without values.
struct Distribution {
  std::size_t count = 0;
  double mean = 0, min = 0, p10 = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};
Distribution distribution_of(std::vector<double> values);
/// Median of at least one value.
double median(std::vector<double> values);
/// A line of a table of distributions, and the line above them.
void print_heading(std::ostream& out);
void print_row(std::ostream& out, const char* name, const Distribution& d, int decimals);

struct ToolShare {
  std::string tool;  // "(none)": no tool call could be read from the answer
  int turns;
  double share;  // of all turns
};

/// Statistics of a workload: what it demands of an engine.
struct WorkloadStatistics {
  std::string source;
  std::string tokenizer;
  int jobs = 0;
  int turns = 0;
  Distribution turns_per_job;
  Distribution prompt_tokens;    // a turn
  Distribution first_prompt;     // a job's first turn
  Distribution new_tokens;       // later turns: prompt without the previous prompt and answer
  Distribution output_tokens;    // a turn
  Distribution final_context;    // a job: last prompt and answer, tokens
  Distribution gap_s;            // between turns; a last turn has none
  std::vector<ToolShare> tools;  // most frequent first
};
WorkloadStatistics statistics_of(const Workload& workload);
void print(std::ostream& out, const WorkloadStatistics& table);

/// The engine settings that a turn's cost depends on.
struct BudgetSettings {
  int block_size = 16;                // tokens
  int max_num_batched_tokens = 2048;  // of a step
};

struct BudgetPart {
  std::string name;
  int tokens;
};

/// The cost of one turn on an idle engine that still holds all KV of the previous turn.
struct TokenBudget {
  std::string job;
  int turn = 0;   // from 0
  int turns = 0;  // of the job
  BudgetSettings settings;
  std::vector<BudgetPart> input;   // sums to prompt_tokens; framing counts with its message
  std::vector<BudgetPart> output;  // sums to output_tokens
  int prompt_tokens = 0;
  int output_tokens = 0;
  /// Tokens in whole blocks of KV that the previous turn computed: its prompt and answer without
  /// the answer's last token, which was never fed back. At least one prompt token is always
  /// computed. 0 on the first turn. Blocks shared with other jobs (the system prompt) are not
  /// counted.
  int reusable_tokens = 0;
  int tokens_to_compute = 0;  // prompt_tokens - reusable_tokens
  /// ceil(tokens_to_compute / max_num_batched_tokens); the last of these steps samples the first
  /// answer token.
  int prefill_steps = 0;
  int min_steps = 0;  // prefill_steps + output_tokens - 1
  /// 1 + output_tokens: the count in which prefill is a step of its own that samples no token.
  int steps_counting_prefill_apart = 0;
};

/// Throws engine::InputError when the job has no such turn or a setting is below 1.
TokenBudget token_budget(const Job& job, int turn, const BudgetSettings& settings);
void print(std::ostream& out, const TokenBudget& budget);

}  // namespace workload
