#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "tests/support/catch.hpp"
#include "workers/workload/trajectory.hpp"

/// Properties of every generated workload, and measures that the tests compare.
namespace generated {

inline bool is_answer(workload::SegmentKind kind) {
  return kind >= workload::SegmentKind::assistant_text;
}

/// Segments cover the tokens; each prompt ends with its role prefix; each answer fills its turn.
inline void check_segments(const workload::Job& job) {
  std::vector<int> answers(job.turns.size()), prompts(job.turns.size());
  int length = 0;
  for (const workload::Segment& segment : job.segments) {
    REQUIRE(segment.tokens > 0);
    const auto turn = static_cast<std::size_t>(segment.turn);
    REQUIRE(turn < job.turns.size());
    length += segment.tokens;
    if (is_answer(segment.kind)) answers[turn] += segment.tokens;
    if (segment.kind == workload::SegmentKind::role_prefix) prompts[turn] = length;
  }
  REQUIRE(length == static_cast<int>(job.tokens.size()));
  for (std::size_t k = 0; k < job.turns.size(); ++k) {
    REQUIRE(prompts[k] == job.turns[k].prompt_tokens);
    REQUIRE(answers[k] == job.turns[k].output_tokens);
  }
}

/// Every prompt extends the previous prompt and its answer; the gap follows every answer but the
/// last.
inline void check_turns(const workload::Job& job, engine::Nanos gap) {
  int length = 0;
  for (const workload::Turn& turn : job.turns) {
    const bool last = &turn == &job.turns.back();
    REQUIRE(turn.prompt_tokens > length);
    REQUIRE(turn.output_tokens > 0);
    REQUIRE(turn.gap == (last ? engine::Nanos{0} : gap));
    length = turn.prompt_tokens + turn.output_tokens;
  }
  REQUIRE(length == static_cast<int>(job.tokens.size()));
}

inline void check_workload(const workload::Workload& workload, engine::Nanos gap,
                           std::uint32_t vocabulary) {
  std::set<std::string> ids;
  for (const workload::Job& job : workload.jobs) {
    check_segments(job);
    check_turns(job, gap);
    REQUIRE(*std::max_element(job.tokens.begin(), job.tokens.end()) < vocabulary);
    for (const workload::Turn& turn : job.turns)
      REQUIRE(
          (turn.tool == engine::ToolId::none || engine::index(turn.tool) < workload.tools.size()));
    ids.insert(job.id);
  }
  CHECK(ids.size() == workload.jobs.size());
  CHECK(workload.tokenizer == "built in");
}

inline std::ptrdiff_t shared_prefix(const workload::Job& a, const workload::Job& b) {
  return std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end()).first -
         a.tokens.begin();
}

/// Whether all pairs of these jobs have exactly `tokens` leading tokens in common.
inline bool all_share_exactly(const workload::Workload& workload, std::ptrdiff_t tokens) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (shared_prefix(workload.jobs[i], workload.jobs[j]) != tokens) return false;
  return true;
}

/// Number of blocks of 16 tokens behind the shared prefix that occur more than once, at any
/// position.
inline std::size_t repeated_blocks(const workload::Workload& workload, std::size_t shared) {
  using Block = std::vector<engine::TokenId>;
  std::vector<Block> blocks;
  for (const workload::Job& job : workload.jobs)
    for (std::size_t at = shared / 16 * 16 + 16; at + 16 <= job.tokens.size(); at += 16)
      blocks.emplace_back(job.tokens.begin() + static_cast<std::ptrdiff_t>(at),
                          job.tokens.begin() + static_cast<std::ptrdiff_t>(at) + 16);
  std::sort(blocks.begin(), blocks.end());
  const auto unique = std::unique(blocks.begin(), blocks.end());
  return static_cast<std::size_t>(blocks.end() - unique);
}

/// FNV-1a over the numbers of every job: equal for equal workloads.
inline std::uint64_t checksum(const workload::Workload& workload) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  const auto add = [&sum](auto value) {
    sum = (sum ^ static_cast<std::uint64_t>(value)) * 0x100000001b3U;
  };
  for (const workload::Job& job : workload.jobs) {
    for (const auto token : job.tokens) add(token);
    for (const auto& turn : job.turns) {
      add(turn.prompt_tokens), add(turn.output_tokens);
      add(static_cast<int>(turn.tool)), add(turn.gap.count());
    }
    for (const auto& segment : job.segments) {
      add(static_cast<int>(segment.kind)), add(segment.turn), add(segment.tokens);
    }
  }
  return sum;
}

}  // namespace generated
