#include <algorithm>

#include "workers/engine/base/block_hash.hpp"
#include "workers/workload/chat_format.hpp"
#include "workers/workload/recorded_job.hpp"
#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

constexpr int kBlock = 16;  // the smallest blocks that texts have in common

/// Makes sessions of chats: a turn for each answer, whose prompt is the chat up to there.
class Chats {
 public:
  Chats(const Tokenizer& tokenizer, TraceSet& set)
      : tokenizer_(tokenizer), set_(set), tools_(set.tools) {
    set_.notes.push_back("tokens are counted by " + tokenizer.name());
  }

  void add(const RecordedJob& chat, const InputPlace& place) {
    const EncodedChat encoded = encode_chat(chat.messages, ToolFallback::function_tag, tokenizer_);
    SessionBuilder made(chat.id, kGlobalScope, kBlock, place);
    made.session().is_transcript = true;
    const std::vector<engine::BlockHash> hashes = engine::hash_blocks(encoded.job.tokens, kBlock);
    int before = 0;
    for (std::size_t t = 0; t < encoded.job.turns.size(); ++t) {
      TraceTurn turn;
      turn.prompt_tokens = encoded.job.turns[t].prompt_tokens;
      turn.output_tokens = encoded.job.turns[t].output_tokens;
      turn.tool = tools_.of(encoded.tool_words[t]);
      if (t > 0) {
        turn.waits_for = {static_cast<int>(t) - 1};
        turn.think_s = chat.turns[t - 1].exec_s.value_or(kUnrecorded);
      }
      const int blocks = turn.prompt_tokens / kBlock;
      IdLists::Split ids{before, {}};
      for (int i = before; i < blocks; ++i)
        ids.fresh.push_back(hashes[static_cast<std::size_t>(i)].low);
      made.add_turn(std::move(turn), static_cast<int>(t) - 1, ids, place);
      before = blocks;
    }
    set_.sessions.push_back(std::move(made).take());
  }

 private:
  const Tokenizer& tokenizer_;
  TraceSet& set_;
  NameIndex tools_;
};

Role role_of(const JsonField& message) {
  constexpr const char* kAllowed =
      "\"human\" or \"user\", \"gpt\" or \"assistant\", \"system\" or \"tool\"";
  const auto from = message.find("from");
  if (!from) message.refuse_value(std::string("has no from; allowed: ") + kAllowed);
  const std::string& name = from->text(kAllowed);
  if (name == "human" || name == "user") return Role::user;
  if (name == "gpt" || name == "assistant") return Role::assistant;
  if (name == "system") return Role::system;
  if (name == "tool") return Role::tool;
  from->refuse_type(kAllowed);
}

/// Answers in front of the first question are part of the prompt.
std::vector<ChatMessage> messages_of(const JsonField& conversation) {
  const auto list = conversation.find("conversations");
  if (!list) conversation.refuse_value("has no conversations");
  std::vector<ChatMessage> messages;
  bool asked = false;
  for (std::size_t i = 0, count = list->array_size("a list of messages"); i < count; ++i) {
    const JsonField message = list->at(i);
    const auto value = message.find("value");
    if (!value) message.refuse_value("has no value");
    const Role role = role_of(message);
    asked = asked || role == Role::user;
    messages.push_back({role, value->text(), {}, {}, !asked});
  }
  return messages;
}

}  // namespace

void visit_messages(const std::string& path, const ChatVisitor& visit) {
  visit_documents(path, [&](const TraceDocument& document) {
    visit(parse_job(document.json, document.place), document.place);
  });
}

int visit_sharegpt(const std::string& path, const ChatVisitor& visit) {
  int number = 0, unanswered = 0;
  const auto add = [&](const JsonField& conversation, const InputPlace& place) {
    const std::string fallback = "conversation " + std::to_string(++number);
    RecordedJob chat{
        name_in(conversation, "id", fallback), place.line, messages_of(conversation), {}};
    chat.turns.resize(static_cast<std::size_t>(std::ranges::count_if(chat.messages, is_turn)));
    if (chat.turns.empty()) {
      ++unanswered;
    } else {
      visit(chat, place);
    }
  };
  visit_documents(path, [&](const TraceDocument& document) {
    const JsonField all(document.json, "", document.place);
    if (!document.json.is_array()) return add(all, document.place);
    for (std::size_t i = 0, count = all.array_size(); i < count; ++i)
      add(all.at(i), document.place);
  });
  return unanswered;
}

void read_messages(const std::string& path, const Tokenizer& tokenizer, TraceSet& set) {
  Chats chats(tokenizer, set);
  visit_messages(path,
                 [&](const RecordedJob& chat, const InputPlace& place) { chats.add(chat, place); });
}

void read_sharegpt(const std::string& path, const Tokenizer& tokenizer, TraceSet& set) {
  Chats chats(tokenizer, set);
  const int unanswered = visit_sharegpt(
      path, [&](const RecordedJob& chat, const InputPlace& place) { chats.add(chat, place); });
  if (unanswered > 0)
    set.notes.push_back(std::to_string(unanswered) + " conversations without an answer left out");
}

}  // namespace workload
