#include "workers/workload/chat_format.hpp"

#include <array>
#include <optional>

namespace workload {
namespace {

constexpr std::string_view kOpen = "```bash\n";
constexpr std::string_view kClose = "\n```";
constexpr std::string_view kTag = "<function=";

/// The content of the next block at or after `from`, which moves behind the block; empty optional
/// when no block closes.
std::optional<std::string_view> next_bash_block(std::string_view text, std::size_t& from) {
  const std::size_t open = text.find(kOpen, from);
  if (open == text.npos) return std::nullopt;
  const std::size_t inside = open + kOpen.size();
  const std::size_t close = text.find(kClose, inside);
  if (close == text.npos) return std::nullopt;
  from = close + kClose.size();
  return text.substr(inside, close - inside);
}

constexpr std::array<std::string_view, 4> kRoleNames{"system", "user", "assistant", "tool"};

/// What the replay generates for one assistant message. The parts are adjacent.
struct Answer {
  std::string text;
  std::size_t calls_at;  // first byte of the tool calls (and the "\n" before them)
  std::size_t block_at;  // first byte of the synthesized block (and the "\n" before it)
};

Answer compose_answer(const ChatMessage& message) {
  Answer answer{message.text, message.text.size(), message.text.size()};
  if (message.tool_calls.empty()) return answer;
  if (!answer.text.empty()) answer.text += '\n';
  answer.text += message.tool_calls;
  answer.block_at = answer.text.size();
  if (count_bash_blocks(message.text) != 1)
    answer.text += "\n```bash\n" + message.function_name + "\n```";
  return answer;
}

std::string called_tool(const ChatMessage& message, const Answer& answer, ToolFallback fallback) {
  const std::string_view word = tool_word(answer.text);
  if (!word.empty()) return std::string(word);
  const bool plain = message.tool_calls.empty() && count_bash_blocks(message.text) == 0;
  if (plain && fallback == ToolFallback::function_tag)
    return std::string(function_tag_name(message.text));
  return {};
}

bool calls_tool(const ChatMessage& message) {
  return !message.tool_calls.empty() || count_bash_blocks(message.text) > 0 ||
         !function_tag_name(message.text).empty();
}

/// Appends messages to one growing job.
class ChatEncoder {
 public:
  ChatEncoder(const Tokenizer& tokenizer, ToolFallback fallback)
      : tokenizer_(tokenizer), control_(tokenizer.control()), fallback_(fallback) {
    for (std::size_t role = 0; role < kRoleNames.size(); ++role)
      headers_[role] = header(kRoleNames[role]);
    tokens().push_back(control_.begin_of_text);
  }

  void add(const ChatMessage& message) {
    if (is_turn(message)) {
      add_turn(message);
    } else {
      add_to_prompt(message);
    }
  }

  EncodedChat finish() && { return std::move(chat_); }

 private:
  std::vector<engine::TokenId> header(std::string_view role) const {
    std::vector<engine::TokenId> ids{control_.start_header};
    tokenizer_.encode(role, ids);
    ids.push_back(control_.end_header);
    tokenizer_.encode("\n\n", ids);
    return ids;
  }

  void open(Role role) {
    const std::vector<engine::TokenId>& ids = headers_[static_cast<std::size_t>(role)];
    tokens().insert(tokens().end(), ids.begin(), ids.end());
  }

  void add_to_prompt(const ChatMessage& message) {
    open(message.role);
    if (message.role == Role::assistant) {
      tokenizer_.encode(compose_answer(message).text, tokens());
    } else {
      tokenizer_.encode(message.text, tokens());
    }
    tokens().push_back(control_.end_of_turn);
    close_segment(prompt_kind(message));
  }

  SegmentKind prompt_kind(const ChatMessage& message) const {
    if (message.role == Role::system) return SegmentKind::system;
    const bool response =
        message.role == Role::tool || (message.role == Role::user && tool_called_);
    return response ? SegmentKind::tool_response : SegmentKind::user;
  }

  void add_turn(const ChatMessage& message) {
    open(Role::assistant);
    close_segment(SegmentKind::role_prefix);
    const int prompt_tokens = segments_end_;
    const Answer answer = compose_answer(message);
    add_answer(answer);
    chat_.tool_words.push_back(called_tool(message, answer, fallback_));
    chat_.job.turns.push_back(
        {prompt_tokens, segments_end_ - prompt_tokens, engine::ToolId::none, engine::Nanos{0}});
    tool_called_ = calls_tool(message);
  }

  void add_answer(const Answer& answer) {
    std::vector<std::uint32_t> bytes;
    tokenizer_.encode(answer.text, tokens(), &bytes);
    std::array<int, 3> parts{};  // tokens of the text, of the calls, of the block
    std::size_t at = 0;
    for (const std::uint32_t length : bytes) {
      ++parts[at < answer.calls_at ? 0 : at < answer.block_at ? 1 : 2];
      at += length;
    }
    add_segment(SegmentKind::assistant_text, parts[0]);
    add_segment(SegmentKind::tool_calls, parts[1]);
    add_segment(SegmentKind::tool_block, parts[2]);
    tokens().push_back(control_.end_of_turn);
    close_segment(SegmentKind::end_of_turn);
  }

  /// Makes a segment of everything appended since the last one.
  void close_segment(SegmentKind kind) {
    add_segment(kind, static_cast<int>(tokens().size()) - segments_end_);
  }

  void add_segment(SegmentKind kind, int count) {
    if (count == 0) return;
    chat_.job.segments.push_back({kind, static_cast<int>(chat_.job.turns.size()), count});
    segments_end_ += count;
  }

  std::vector<engine::TokenId>& tokens() { return chat_.job.tokens; }

  const Tokenizer& tokenizer_;
  const ControlTokens control_;
  const ToolFallback fallback_;
  std::array<std::vector<engine::TokenId>, kRoleNames.size()> headers_;
  EncodedChat chat_;
  int segments_end_ = 0;      // tokens that segments cover
  bool tool_called_ = false;  // by the last turn
};

}  // namespace

int count_bash_blocks(std::string_view text) {
  int count = 0;
  for (std::size_t from = 0; next_bash_block(text, from);) ++count;
  return count;
}

std::string_view tool_word(std::string_view answer) {
  std::size_t from = 0;
  const std::optional<std::string_view> only = next_bash_block(answer, from);
  if (!only || next_bash_block(answer, from)) return {};
  return first_word(*only);
}

std::string_view function_tag_name(std::string_view answer) {
  const std::size_t open = answer.rfind(kTag);
  if (open == answer.npos) return {};
  const std::string_view rest = answer.substr(open + kTag.size());
  const std::size_t close = rest.find_first_of(">\n");
  if (close == rest.npos || rest[close] != '>') return {};
  return first_word(rest.substr(0, close));
}

std::string_view first_word(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_first_of(kBlanks, begin) - begin);
}

EncodedChat encode_chat(const std::vector<ChatMessage>& messages, ToolFallback fallback,
                        const Tokenizer& tokenizer) {
  ChatEncoder encoder(tokenizer, fallback);
  std::size_t used = messages.size();
  while (used > 0 && !is_turn(messages[used - 1])) --used;
  for (std::size_t i = 0; i < used; ++i) encoder.add(messages[i]);
  return std::move(encoder).finish();
}

}  // namespace workload
