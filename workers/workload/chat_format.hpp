#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workers/workload/tokenizer/tokenizer.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// Number of fenced blocks between "```bash\n" and "\n```", counted from left to right.
int count_bash_blocks(std::string_view text);

/// The tool that an answer calls: the first word of its bash block if there is exactly one,
/// otherwise empty. This is the rule of Continuum's parser, and pins depend on nothing else.
std::string_view tool_word(std::string_view answer);

/// The name in the last "<function=NAME>" of an answer with its call as XML; empty without one.
std::string_view function_tag_name(std::string_view answer);

/// First word between blanks (ASCII white space); empty if there is none.
std::string_view first_word(std::string_view text);

enum class Role : std::uint8_t { system, user, assistant, tool };

/// One message of a recorded chat.
struct ChatMessage {
  Role role;
  std::string text;
  std::string
      tool_calls;  // assistant: the calls as compact JSON, one per line; empty without calls
  std::string function_name;  // assistant: name of the first call
  bool is_demo = false;       // assistant: a few-shot example; part of the prompt, not a turn
};

/// True for the messages that the replay generates: each is one turn.
inline bool is_turn(const ChatMessage& message) {
  return message.role == Role::assistant && !message.is_demo;
}

/// Where the tool is read from when an answer has neither a bash block nor tool calls.
enum class ToolFallback : std::uint8_t {
  none,          // nowhere: the answer calls no tool, as in Continuum's parser
  function_tag,  // from the last "<function=NAME>", the XML form of SWE-smith
};

/// A chat as tokens. `job` has no id, and its turns have neither tool nor gap yet.
struct EncodedChat {
  Job job;
  std::vector<std::string> tool_words;  // by turn; empty: no tool
};

/// Llama-3 chat framing without a date preamble. The text begins with begin-of-text. Each message
/// is start-header, role, end-header, "\n\n", content, end-of-turn. A prompt ends with the open
/// assistant header. Contents are tokenized separately, so no token spans two messages. An answer
/// is its text, then its calls, then "```bash\n<function>\n```" for the first call, unless it
/// already holds exactly one bash block; the parts are joined by "\n". Messages after the last turn
/// are dropped. A token belongs to the part of the answer that holds its first byte.
///
/// A user message counts as a tool response when the preceding answer calls a tool: agents that
/// write plain text have no tool role. Few-shot answers count with the user's messages.
EncodedChat encode_chat(const std::vector<ChatMessage>& messages, ToolFallback fallback,
                        const Tokenizer& tokenizer);

}  // namespace workload
