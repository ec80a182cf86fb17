#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "workers/engine/base/errors.hpp"
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
void check_generated(int jobs, double gap_s, std::uint32_t vocabulary);

/// "<workload>-00007": unique in a workload, and in order of number when sorted.
std::string generated_id(const std::string& workload, int job);

/// Tokens of the open assistant header that ends every prompt, as counted in the published token
/// accounts.
inline constexpr int kRolePrefixTokens = 3;

/// Token ids of generated jobs. The ids have no meaning; only which runs of them are equal matters.
class SyntheticTokens {
 public:
  /// Ids are in 0 .. vocabulary - 1.
  SyntheticTokens(std::int64_t seed, std::uint32_t vocabulary);

  /// `total` tokens of this job. The first `shared` are the same for every job. The next one
  /// differs between any two of `vocabulary` successive jobs. The rest is a hash of job and
  /// position.
  std::vector<engine::TokenId> of_job(std::uint32_t job, int shared, int total) const;

 private:
  engine::TokenId at(std::uint32_t stream, int position) const;

  std::uint64_t key_;
  std::uint32_t vocabulary_;
};

/// Assembles a job from the lengths of its segments, in order of their tokens.
class SyntheticJob {
 public:
  explicit SyntheticJob(std::string id) { job_.id = std::move(id); }

  /// Appends a segment of the next prompt, or of the answer to it. Empty segments are omitted.
  void append_prompt(SegmentKind kind, int tokens);
  void append_answer(SegmentKind kind, int tokens);
  /// Ends the turn of that prompt and answer: it calls `tool`, and the tool returns `gap` after the
  /// turn's last token.
  void end_turn(engine::ToolId tool, engine::Nanos gap);
  /// The job, with the ids of its tokens; `shared` of them are the same for every job.
  Job finish(const SyntheticTokens& tokens, std::uint32_t job, int shared);

 private:
  void append(SegmentKind kind, int tokens);

  Job job_;
  int length_ = 0;         // tokens so far
  int prompt_length_ = 0;  // tokens up to the end of the current turn's prompt
};

}  // namespace workload
