#include "workers/workload/generators.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "workers/engine/base/errors.hpp"
#include "workers/workload/synthetic_job.hpp"

namespace workload {
namespace {

// Prompt sizes as measured on the published runs: tool outputs target 1640, 1510, 2455, 1335, 2730,
// 1930 and 775 tokens, in this order for every job, plus 65 to 101 tokens of framing.
constexpr std::array<int, 8> kPromptTokens = {92, 1840, 3449, 6025, 7454, 10299, 12333, 13193};
constexpr int kAnswerTokens = 20;
constexpr int kSystemPromptTokens = 80;

int scaled(int tokens, double scale) {
  return std::max(1, static_cast<int>(std::lround(tokens * scale)));
}

Job make_job(const Agent8Config& config, const SyntheticTokens& tokens, int number) {
  SyntheticJob job(generated_id("agent8", number));
  const auto tool = config.tool_hint ? engine::ToolId{0} : engine::ToolId::none;
  const auto gap = engine::from_seconds(config.gap_s);
  int length = kSystemPromptTokens;
  job.append_prompt(SegmentKind::system, kSystemPromptTokens);
  for (const int prompt : kPromptTokens) {
    const bool first = prompt == kPromptTokens.front(), last = prompt == kPromptTokens.back();
    const int added = prompt - length - kRolePrefixTokens;
    if (first) {
      job.append_prompt(SegmentKind::user, added);
    } else {
      job.append_prompt(SegmentKind::tool_response, scaled(added, config.scale));
    }
    job.append_prompt(SegmentKind::role_prefix, kRolePrefixTokens);
    job.append_answer(SegmentKind::assistant_text, kAnswerTokens);
    // No tool runs after the last answer.
    job.end_turn(last ? engine::ToolId::none : tool, last ? engine::Nanos{0} : gap);
    length = prompt + kAnswerTokens;
  }
  return job.finish(tokens, static_cast<std::uint32_t>(number), kSystemPromptTokens);
}

}  // namespace

Workload make_agent8(const Agent8Config& config) {
  check_generated(config.jobs, config.gap_s, config.vocabulary);
  if (!(config.scale > 0 && config.scale <= 1))
    throw engine::InputError("workload.scale must be above 0 and at most 1, found " +
                             std::to_string(config.scale));
  const SyntheticTokens tokens(config.seed, config.vocabulary);
  Workload workload;
  workload.source = "agent8 seed " + std::to_string(config.seed);
  workload.tokenizer = "built in";
  if (config.tool_hint) workload.tools = {"tool"};
  workload.jobs.reserve(static_cast<std::size_t>(config.jobs));
  for (int number = 0; number < config.jobs; ++number)
    workload.jobs.push_back(make_job(config, tokens, number));
  return workload;
}

}  // namespace workload
