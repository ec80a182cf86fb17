#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "workers/engine/base/errors.hpp"
#include "workers/workload/random.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// Throws engine::InputError unless it holds: "<key>: found <found>, allowed <allowed>".
template <class Value>
void require(bool holds, std::string_view key, Value found, std::string_view allowed) {
  if (holds) return;
  std::ostringstream message;
  message << key << ": found " << found << ", allowed " << allowed;
  throw engine::InputError(message.str());
}

/// Checks the limits common to all generators: 1 to 100,000 jobs, a gap that is a duration, at
/// least 256 token ids. Throws engine::InputError.
inline void check_generated(int jobs, double gap_s, std::uint32_t vocabulary) {
  require(jobs >= 1 && jobs <= 100'000, "jobs", jobs, "1 to 100000");
  require(gap_s >= 0 && gap_s <= 1e6, "gap_s", gap_s, "0 to 1000000 seconds");
  require(vocabulary >= 256, "vocabulary", vocabulary, "at least 256 token ids");
}

/// "<workload>-00007": unique in a workload, and in order of number when sorted.
inline std::string generated_id(const std::string& workload, int job) {
  const std::string number = std::to_string(job);
  return workload + "-" + std::string(5 - number.size(), '0') + number;
}

/// Tokens of the open assistant header that ends every prompt, as counted in the published token
/// accounts.
inline constexpr int kRolePrefixTokens = 3;

/// Token ids of generated jobs. The ids have no meaning; only which runs of them are equal matters.
class SyntheticTokens {
 public:
  /// Ids are in 0 .. vocabulary - 1.
  SyntheticTokens(std::int64_t seed, std::uint32_t vocabulary)
      : key_(mixed_bits(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15U)),
        vocabulary_(vocabulary) {}

  /// `total` tokens of this job. The first `shared` are the same for every job. The next one
  /// differs between any two of `vocabulary` successive jobs. The rest is a hash of job and
  /// position.
  std::vector<engine::TokenId> of_job(std::uint32_t job, int shared, int total) const {
    std::vector<engine::TokenId> ids(static_cast<std::size_t>(total));
    for (int i = 0; i < total; ++i)
      ids[static_cast<std::size_t>(i)] = at(i < shared ? kSharedStream : job, i);
    // Two jobs may have the same hash here, and would then share one token more.
    if (total > shared)
      ids[static_cast<std::size_t>(shared)] =
          static_cast<engine::TokenId>((key_ % vocabulary_ + job) % vocabulary_);
    return ids;
  }

 private:
  static constexpr std::uint32_t kSharedStream = 0xffffffffU;  // no job has this number

  // Stream and position are disjoint bits of the hashed word, so no two tokens of a workload hash
  // the same word. Streams therefore cannot repeat each other at an offset, and blocks are equal
  // only by chance.
  engine::TokenId at(std::uint32_t stream, int position) const {
    const std::uint64_t place = std::uint64_t{stream} << 32 | static_cast<std::uint32_t>(position);
    const std::uint64_t high = mixed_bits(key_ ^ place) >> 32;
    return static_cast<engine::TokenId>(high * vocabulary_ >> 32);
  }

  std::uint64_t key_;
  std::uint32_t vocabulary_;
};

/// Assembles a job from the lengths of its segments, in order of their tokens.
class SyntheticJob {
 public:
  explicit SyntheticJob(std::string id) { job_.id = std::move(id); }

  /// Appends a segment of the next prompt, or of the answer to it. Empty segments are omitted.
  void append_prompt(SegmentKind kind, int tokens) {
    append(kind, tokens);
    prompt_length_ = length_;
  }
  void append_answer(SegmentKind kind, int tokens) { append(kind, tokens); }
  /// Ends the turn of that prompt and answer: it calls `tool`, and the tool returns `gap` after the
  /// turn's last token.
  void end_turn(engine::ToolId tool, engine::Nanos gap) {
    job_.turns.push_back({prompt_length_, length_ - prompt_length_, tool, gap});
  }
  /// The job, with the ids of its tokens; `shared` of them are the same for every job.
  Job finish(const SyntheticTokens& tokens, std::uint32_t job, int shared) {
    job_.tokens = tokens.of_job(job, shared, length_);
    return std::move(job_);
  }

 private:
  void append(SegmentKind kind, int tokens) {
    if (tokens == 0) return;
    job_.segments.push_back({kind, static_cast<int>(job_.turns.size()), tokens});
    length_ += tokens;
  }

  Job job_;
  int length_ = 0;         // tokens so far
  int prompt_length_ = 0;  // tokens up to the end of the current turn's prompt
};

}  // namespace workload
