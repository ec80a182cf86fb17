#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace workload {

/// The kind of a run of tokens in a trajectory. The kinds split one agent turn into the parts of
/// its prompt and the parts of its answer.
enum class SegmentKind : std::uint8_t {
  system,          // system prompt with its header and end-of-turn tokens (and the BOS token)
  user,            // user message (the task), with its framing
  tool_response,   // a tool's output, with its framing
  role_prefix,     // the open assistant header that ends every prompt
  assistant_text,  // answer: the text content
  tool_calls,      // answer: the tool call's JSON
  tool_block,      // answer: the synthesized ```bash block
  end_of_turn,     // answer: the end-of-turn token
};

struct Segment {
  SegmentKind kind;
  int turn;    // prompt segments: the first turn with it in its prompt; answer segments: the turn
               // that generates it
  int tokens;  // length; segments are adjacent and cover the whole trajectory
};

struct Turn {
  int prompt_tokens;    // the prompt is Job::tokens[0, prompt_tokens)
  int output_tokens;    // the recorded answer is Job::tokens[prompt_tokens, prompt_tokens +
                        // output_tokens)
  engine::ToolId tool;  // tool that the answer calls; none if no tool word could be read
  engine::Nanos gap;  // tool execution: time from the last token to the arrival of the next turn; 0
                      // on the last turn
  /// Leading tokens of the prompt that the job's previous turn has, too, in its prompt or answer;
  /// negative: all of the previous turn.
  int reused_tokens = -1;
};

/// One agent trajectory. Unless the workload makes prompts on demand, every turn's prompt extends
/// the previous turn: prompt[k+1] = prompt[k] ++ output[k] ++ new.
struct Job {
  std::string id;
  std::vector<engine::TokenId> tokens;  // empty when they are made on demand
  std::vector<Turn> turns;
  std::vector<Segment> segments;
};

/// Makes the tokens of turns on demand, for workloads which would not fit into memory otherwise. A
/// turn's tokens are always the same.
class PromptSource {
 public:
  virtual ~PromptSource() = default;
  /// Replaces `tokens` by the turn's prompt, followed by its recorded answer.
  virtual void make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const = 0;
  /// The segments of the turn's tokens: prompt and answer, in order.
  virtual std::vector<Segment> segments(std::uint32_t job, int turn) const = 0;
};

/// A turn starts only when turn `on` of another job has ended.
struct TurnWait {
  int turn;
  std::uint32_t job;
  int on;
};

/// The place of a job that is one agent of a program: its root, or a subagent.
struct AgentPlace {
  std::uint32_t program = 0;    // position among the programs
  std::uint32_t root = 0;       // the job of the program's root
  int agent = 0;                // number in the program; the root is 0
  int parent = 0;               // the agent that spawned it; the root's is 0
  std::vector<int> numbers;     // of its turns among all turns of the program
  std::vector<TurnWait> waits;  // by turn
  engine::Nanos lead{0};        // before its first turn, after what that waits for
  /// Earliest start of each turn after its agent's previous turn started; of the first turn, after
  /// the first turn that it waits for started. Unset: the turn starts after its gap, or `lead`.
  std::vector<std::optional<engine::Nanos>> since_start;
};

/// The jobs to replay. Built once and read-only afterwards; the engine borrows the tokens.
struct Workload {
  std::string source;              // for people: "swe_smith_like seed 42", a file name, ...
  std::string tokenizer;           // source of the token counts: a file name, "built in", ...
  std::string assumed = {};        // what the trace's converter took for granted, for people
  std::vector<std::string> tools;  // indexed by ToolId
  std::vector<Job> jobs;
  std::shared_ptr<const PromptSource> prompts;  // null: jobs hold their tokens
  std::vector<AgentPlace> agents;  // by job, those of a program next to each other, root first;
                                   // empty: every job is a program of its own
  int num_programs = 0;            // with agents

  int programs() const { return agents.empty() ? static_cast<int>(jobs.size()) : num_programs; }
  std::uint32_t program_of(std::uint32_t job) const {
    return agents.empty() ? job : agents[job].program;
  }
  std::uint32_t root_of(std::uint32_t job) const { return agents.empty() ? job : agents[job].root; }
  /// The number of a job's turn within its program; of a turn that the job does not have, that
  /// number itself.
  int number_of(std::uint32_t job, int turn) const {
    if (agents.empty() || turn < 0) return turn;
    const std::vector<int>& numbers = agents[job].numbers;
    const auto at = static_cast<std::size_t>(turn);
    return at < numbers.size() ? numbers[at] : turn;
  }
};

/// Leading tokens of the turn's prompt whose KV the job's previous turn has computed. The last
/// token of an answer is sampled, never fed back.
int computed_before(const Job& job, std::size_t turn);
/// Tokens of the longest turn, prompt and answer.
int longest_turn(const Job& job);

}  // namespace workload
