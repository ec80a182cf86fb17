#pragma once
#include <cstdint>
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
};

/// One agent trajectory. Every turn's prompt extends the previous turn: prompt[k+1] = prompt[k] ++
/// output[k] ++ new.
struct Job {
  std::string id;
  std::vector<engine::TokenId> tokens;
  std::vector<Turn> turns;
  std::vector<Segment> segments;
};

/// The jobs to replay. Built once and read-only afterwards; the engine borrows the tokens.
struct Workload {
  std::string source;     // for people: "swe_smith_like seed 42", a file name, ...
  std::string tokenizer;  // source of the token counts: a file name, "built in", or "byte estimate"
  std::vector<std::string> tools;  // indexed by ToolId
  std::vector<Job> jobs;
};

}  // namespace workload
