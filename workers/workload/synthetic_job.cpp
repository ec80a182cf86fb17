#include "workers/workload/synthetic_job.hpp"

#include <utility>

#include "workers/workload/random.hpp"

namespace workload {
namespace {

constexpr std::uint32_t kSharedStream = 0xffffffffU;  // no job has this number

}  // namespace

void check_generated(int jobs, double gap_s, std::uint32_t vocabulary) {
  require(jobs >= 1 && jobs <= 100'000, "jobs", jobs, "1 to 100000");
  require(gap_s >= 0 && gap_s <= 1e6, "gap_s", gap_s, "0 to 1000000 seconds");
  require(vocabulary >= 256, "vocabulary", vocabulary, "at least 256 token ids");
}

std::string generated_id(const std::string& workload, int job) {
  const std::string number = std::to_string(job);
  return workload + "-" + std::string(5 - number.size(), '0') + number;
}

SyntheticTokens::SyntheticTokens(std::int64_t seed, std::uint32_t vocabulary)
    : key_(mixed_bits(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15U)),
      vocabulary_(vocabulary) {}

// Stream and position are disjoint bits of the hashed word, so no two tokens of a workload hash the
// same word. Streams therefore cannot repeat each other at an offset, and blocks are equal only by
// chance.
engine::TokenId SyntheticTokens::at(std::uint32_t stream, int position) const {
  const std::uint64_t place = std::uint64_t{stream} << 32 | static_cast<std::uint32_t>(position);
  const std::uint64_t high = mixed_bits(key_ ^ place) >> 32;
  return static_cast<engine::TokenId>(high * vocabulary_ >> 32);
}

std::vector<engine::TokenId> SyntheticTokens::of_job(std::uint32_t job, int shared,
                                                     int total) const {
  std::vector<engine::TokenId> ids(static_cast<std::size_t>(total));
  for (int i = 0; i < total; ++i)
    ids[static_cast<std::size_t>(i)] = at(i < shared ? kSharedStream : job, i);
  // Two jobs may have the same hash here, and would then share one token more.
  if (total > shared)
    ids[static_cast<std::size_t>(shared)] =
        static_cast<engine::TokenId>((key_ % vocabulary_ + job) % vocabulary_);
  return ids;
}

void SyntheticJob::append(SegmentKind kind, int tokens) {
  if (tokens == 0) return;
  job_.segments.push_back({kind, static_cast<int>(job_.turns.size()), tokens});
  length_ += tokens;
}

void SyntheticJob::append_prompt(SegmentKind kind, int tokens) {
  append(kind, tokens);
  prompt_length_ = length_;
}

void SyntheticJob::append_answer(SegmentKind kind, int tokens) { append(kind, tokens); }

void SyntheticJob::end_turn(engine::ToolId tool, engine::Nanos gap) {
  job_.turns.push_back({prompt_length_, length_ - prompt_length_, tool, gap});
}

Job SyntheticJob::finish(const SyntheticTokens& tokens, std::uint32_t job, int shared) {
  job_.tokens = tokens.of_job(job, shared, length_);
  return std::move(job_);
}

}  // namespace workload
