#include "workers/workload/workload_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"

namespace workload {
namespace {

double percentile(const std::vector<double>& sorted, double fraction) {
  const double rank = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], rank - static_cast<double>(below));
}

/// The values behind a table, collected job by job.
struct Samples {
  std::vector<double> turns, prompt, first_prompt, fresh, output, context, gap_s;
  std::vector<int> by_tool;  // last: no tool

  explicit Samples(std::size_t tools) : by_tool(tools + 1) {}

  void add(const Job& job) {
    int held = 0;  // prompt and answer of the previous turn
    for (const Turn& turn : job.turns) {
      prompt.push_back(turn.prompt_tokens);
      const int old = turn.reused_tokens < 0 ? held : turn.reused_tokens;
      (held == 0 ? first_prompt : fresh).push_back(turn.prompt_tokens - old);
      output.push_back(turn.output_tokens);
      held = turn.prompt_tokens + turn.output_tokens;
      if (&turn != &job.turns.back()) gap_s.push_back(engine::to_seconds(turn.gap));
      ++by_tool[turn.tool == engine::ToolId::none ? by_tool.size() - 1 : engine::index(turn.tool)];
    }
    turns.push_back(static_cast<double>(job.turns.size()));
    context.push_back(held);
  }
};

std::vector<ToolShare> tool_shares(const std::vector<std::string>& names, const Samples& samples) {
  std::vector<ToolShare> shares;
  for (std::size_t i = 0; i < samples.by_tool.size(); ++i) {
    const int turns = samples.by_tool[i];
    if (turns == 0) continue;
    shares.push_back({i < names.size() ? names[i] : "(none)", turns,
                      turns / static_cast<double>(samples.prompt.size())});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const ToolShare& a, const ToolShare& b) { return a.turns > b.turns; });
  return shares;
}

void print_tools(std::ostream& out, const std::vector<ToolShare>& tools) {
  std::size_t width = 0;
  for (const ToolShare& tool : tools) width = std::max(width, tool.tool.size());
  out << "\ntool" << std::string(std::max<std::size_t>(width, 4) - 4, ' ') << "   turns   share\n";
  for (const ToolShare& tool : tools)
    out << tool.tool << std::string(std::max<std::size_t>(width, 4) - tool.tool.size(), ' ')
        << sweep::formatted("%8d%7.1f%%\n", tool.turns, 100 * tool.share);
}

std::string turn_name(int turn) { return "turn " + std::to_string(turn + 1); }

/// The category of a segment in the prompt of `scored`. A segment that follows an answer belongs to
/// that answer's turn.
std::string input_part(const Segment& segment, int scored) {
  switch (segment.kind) {
    case SegmentKind::system:
      return "system prompt";
    case SegmentKind::user:
      return segment.turn == 0 ? "user" : turn_name(segment.turn - 1) + " user reply";
    case SegmentKind::tool_response:
      return segment.turn == 0 ? "tool response" : turn_name(segment.turn - 1) + " tool response";
    case SegmentKind::role_prefix:
      if (segment.turn == scored) return turn_name(scored) + " assistant role prefix";
      break;
    case SegmentKind::tool_block:
      return turn_name(segment.turn) + " synthesized bash block";
    case SegmentKind::assistant_text:
    case SegmentKind::tool_calls:
    case SegmentKind::end_of_turn:
      break;
  }
  return turn_name(segment.turn) + " assistant text + tool_calls JSON";
}

std::string output_part(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::tool_calls:
      return "tool_calls JSON";
    case SegmentKind::tool_block:
      return "synthesized bash block";
    case SegmentKind::end_of_turn:
      return "end of turn";
    default:
      return "assistant text";
  }
}

void add_part(std::vector<BudgetPart>& parts, const std::string& name, int tokens) {
  const auto same = std::find_if(parts.begin(), parts.end(),
                                 [&](const BudgetPart& part) { return part.name == name; });
  if (same != parts.end()) {
    same->tokens += tokens;
  } else {
    parts.push_back({name, tokens});
  }
}

void add_parts(const Job& job, TokenBudget& budget) {
  int begin = 0;
  for (const Segment& segment : job.segments) {
    if (begin < budget.prompt_tokens) {
      add_part(budget.input, input_part(segment, budget.turn), segment.tokens);
    } else if (begin < budget.prompt_tokens + budget.output_tokens) {
      add_part(budget.output, output_part(segment.kind), segment.tokens);
    }
    begin += segment.tokens;
  }
}

int reusable_tokens(const Job& job, int turn, int block_size) {
  if (turn == 0) return 0;
  const int computed = computed_before(job, static_cast<std::size_t>(turn));
  const int usable = job.turns[static_cast<std::size_t>(turn)].prompt_tokens - 1;
  return std::min(computed, usable) / block_size * block_size;
}

void check(const Job& job, int turn, const BudgetSettings& settings) {
  const auto turns = static_cast<int>(job.turns.size());
  if (turn < 0 || turn >= turns) {
    throw engine::InputError("job \"" + job.id + "\" has no turn " + std::to_string(turn + 1) +
                             "; allowed: 1 to " + std::to_string(turns));
  }
  if (settings.block_size < 1 || settings.max_num_batched_tokens < 1) {
    throw engine::InputError("block_size and max_num_batched_tokens must be 1 or more");
  }
}

class BudgetPrinter {
 public:
  explicit BudgetPrinter(std::ostream& out) : out_(out) {}

  void parts(const char* title, const std::vector<BudgetPart>& parts, const char* total,
             int tokens) {
    out_ << '\n' << title << '\n';
    for (const BudgetPart& part : parts) line(part.name, part.tokens, "tok");
    line(total, tokens, "tok");
  }

  void line(const std::string& name, int value, const char* unit) {
    out_ << sweep::formatted("  %-44s%9d %s\n", name.c_str(), value, unit);
  }

 private:
  std::ostream& out_;
};

}  // namespace

Distribution distribution_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Distribution d;
  d.count = values.size();
  d.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  d.min = values.front();
  d.p10 = percentile(values, 0.10);
  d.p50 = percentile(values, 0.50);
  d.p90 = percentile(values, 0.90);
  d.p99 = percentile(values, 0.99);
  d.max = values.back();
  return d;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void print_row(std::ostream& out, const char* name, const Distribution& d, int decimals) {
  out << sweep::formatted("%-26s%10.*f", name, std::max(decimals, 1), d.mean);
  for (const double value : {d.min, d.p10, d.p50, d.p90, d.p99, d.max})
    out << sweep::formatted("%10.*f", decimals, value);
  out << '\n';
}

void print_heading(std::ostream& out) {
  out << sweep::formatted("%-26s", "");
  for (const char* column : {"mean", "min", "p10", "p50", "p90", "p99", "max"})
    out << sweep::formatted("%10s", column);
  out << '\n';
}

WorkloadStatistics statistics_of(const Workload& workload) {
  Samples samples(workload.tools.size());
  for (const Job& job : workload.jobs) samples.add(job);
  WorkloadStatistics table;
  table.source = workload.source;
  table.tokenizer = workload.tokenizer;
  table.jobs = static_cast<int>(workload.jobs.size());
  table.turns = static_cast<int>(samples.prompt.size());
  table.tools = tool_shares(workload.tools, samples);
  table.turns_per_job = distribution_of(std::move(samples.turns));
  table.prompt_tokens = distribution_of(std::move(samples.prompt));
  table.first_prompt = distribution_of(std::move(samples.first_prompt));
  table.new_tokens = distribution_of(std::move(samples.fresh));
  table.output_tokens = distribution_of(std::move(samples.output));
  table.final_context = distribution_of(std::move(samples.context));
  table.gap_s = distribution_of(std::move(samples.gap_s));
  return table;
}

void print(std::ostream& out, const WorkloadStatistics& table) {
  out << "workload   " << table.source << "\ntokenizer  " << table.tokenizer << "\njobs       "
      << table.jobs << "\nturns      " << table.turns << "\n\n";
  print_heading(out);
  print_row(out, "turns per job", table.turns_per_job, 0);
  print_row(out, "prompt tokens per turn", table.prompt_tokens, 0);
  print_row(out, "first prompt per job", table.first_prompt, 0);
  print_row(out, "new tokens per later turn", table.new_tokens, 0);
  print_row(out, "output tokens per turn", table.output_tokens, 0);
  print_row(out, "final context per job", table.final_context, 0);
  if (table.gap_s.count > 0) print_row(out, "gap between turns (s)", table.gap_s, 3);
  print_tools(out, table.tools);
}

TokenBudget token_budget(const Job& job, int turn, const BudgetSettings& settings) {
  check(job, turn, settings);
  const Turn& scored = job.turns[static_cast<std::size_t>(turn)];
  TokenBudget budget;
  budget.job = job.id;
  budget.turn = turn;
  budget.turns = static_cast<int>(job.turns.size());
  budget.settings = settings;
  budget.prompt_tokens = scored.prompt_tokens;
  budget.output_tokens = scored.output_tokens;
  add_parts(job, budget);
  budget.reusable_tokens = reusable_tokens(job, turn, settings.block_size);
  budget.tokens_to_compute = budget.prompt_tokens - budget.reusable_tokens;
  budget.prefill_steps = 1 + (budget.tokens_to_compute - 1) / settings.max_num_batched_tokens;
  budget.min_steps = budget.prefill_steps + budget.output_tokens - 1;
  budget.steps_counting_prefill_apart = 1 + budget.output_tokens;
  return budget;
}

void print(std::ostream& out, const TokenBudget& budget) {
  BudgetPrinter printer(out);
  const BudgetSettings& settings = budget.settings;
  const std::string blocks = std::to_string(budget.reusable_tokens / settings.block_size) +
                             " whole blocks of " + std::to_string(settings.block_size);
  out << "job " << budget.job << ", " << turn_name(budget.turn) << " of " << budget.turns << '\n';
  printer.parts("input", budget.input, "prompt_tokens", budget.prompt_tokens);
  printer.parts("output", budget.output, "output_tokens", budget.output_tokens);
  out << "\nprefix cache\n";
  printer.line("reusable (" + blocks + ")", budget.reusable_tokens, "tok");
  printer.line("to compute", budget.tokens_to_compute, "tok");
  out << "\nminimum engine steps\n";
  printer.line(
      "prefill (at most " + std::to_string(settings.max_num_batched_tokens) + " tok a step)",
      budget.prefill_steps, "steps, the last one samples answer token 1");
  printer.line("decode", budget.output_tokens - 1, "steps, one for each further token");
  printer.line("min steps", budget.min_steps, "steps");
  printer.line("counting prefill apart: 1 + output_tokens", budget.steps_counting_prefill_apart,
               "steps");
}

}  // namespace workload
