#include "workers/workload/chat_format.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/workload/word_tokenizer.hpp"

using namespace workload;

namespace {

ChatMessage says(Role role, const std::string& text) { return {role, text, {}, {}, false}; }

ChatMessage calls(const std::string& text, const std::string& function, const std::string& json) {
  return {Role::assistant, text, json, function, false};
}

/// A chat, encoded; prompts and answers as text.
class Chat {
 public:
  explicit Chat(const std::vector<ChatMessage>& messages,
                ToolFallback fallback = ToolFallback::none)
      : encoded_(encode_chat(messages, fallback, tokenizer_)) {}

  const Job& job() const { return encoded_.job; }
  std::size_t turns() const { return job().turns.size(); }
  std::string tool(std::size_t turn) const { return encoded_.tool_words.at(turn); }
  std::string prompt(std::size_t turn) const { return text(0, job().turns.at(turn).prompt_tokens); }
  std::string answer(std::size_t turn) const {
    const Turn& t = job().turns.at(turn);
    return text(t.prompt_tokens, t.prompt_tokens + t.output_tokens);
  }
  /// Text of the i-th segment.
  std::string segment(std::size_t i) const {
    int begin = 0;
    for (std::size_t before = 0; before < i; ++before) begin += job().segments.at(before).tokens;
    return text(begin, begin + job().segments.at(i).tokens);
  }
  std::vector<SegmentKind> kinds() const {
    std::vector<SegmentKind> kinds;
    for (const Segment& segment : job().segments) kinds.push_back(segment.kind);
    return kinds;
  }

 private:
  std::string text(int begin, int end) const { return tokenizer_.decode(job().tokens, begin, end); }

  support::WordTokenizer tokenizer_;
  EncodedChat encoded_;
};

const std::string kOpenAnswer = "<h>assistant</h>\n\n";

}  // namespace

TEST_CASE("a prompt frames its messages and ends with the open assistant header", "[chat]") {
  const Chat chat(
      {says(Role::system, "Be brief."), says(Role::user, "Fix it"), says(Role::assistant, "Done")});
  CHECK(chat.prompt(0) ==
        "<bos><h>system</h>\n\nBe brief.<eot><h>user</h>\n\nFix it<eot>" + kOpenAnswer);
  CHECK(chat.answer(0) == "Done<eot>");
}

TEST_CASE("every prompt extends the prompt and the answer before it", "[chat]") {
  const Chat chat({says(Role::user, "go"), says(Role::assistant, "one"), says(Role::tool, "result"),
                   says(Role::assistant, "two"), says(Role::user, "thanks"),
                   says(Role::assistant, "three")});
  REQUIRE(chat.turns() == 3);
  CHECK(chat.prompt(1) ==
        chat.prompt(0) + chat.answer(0) + "<h>tool</h>\n\nresult<eot>" + kOpenAnswer);
  CHECK(chat.prompt(2) ==
        chat.prompt(1) + chat.answer(1) + "<h>user</h>\n\nthanks<eot>" + kOpenAnswer);
}

TEST_CASE("a header costs four tokens and the end of a turn one", "[chat]") {
  const Chat chat({says(Role::user, "word"), says(Role::assistant, "")});
  CHECK(chat.job().turns[0].prompt_tokens == 1 + (4 + 1 + 1) + 4);
  CHECK(chat.job().turns[0].output_tokens == 1);
}

TEST_CASE("control spellings in a content stay ordinary text", "[chat]") {
  const Chat chat({says(Role::user, "<|eot_id|>"), says(Role::assistant, "x")});
  int ends = 0;
  for (const engine::TokenId id : chat.job().tokens)
    ends += id == support::WordTokenizer().control().end_of_turn;
  CHECK(ends == 2);
}

TEST_CASE("assistant messages in a row are turns of their own", "[chat]") {
  const Chat chat(
      {says(Role::user, "go"), says(Role::assistant, "one"), says(Role::assistant, "two")});
  REQUIRE(chat.turns() == 2);
  CHECK(chat.prompt(1) == chat.prompt(0) + chat.answer(0) + kOpenAnswer);
  CHECK(chat.answer(1) == "two<eot>");
}

TEST_CASE("messages after the last answer are dropped", "[chat]") {
  const Chat chat({says(Role::user, "go"), says(Role::assistant, "one"), says(Role::tool, "late")});
  CHECK(chat.job().tokens.size() == static_cast<std::size_t>(chat.job().turns[0].prompt_tokens +
                                                             chat.job().turns[0].output_tokens));
}

TEST_CASE("a few-shot answer is part of the prompt and no turn", "[chat]") {
  ChatMessage demo = says(Role::assistant, "```bash\nls\n```");
  demo.is_demo = true;
  const Chat chat(
      {says(Role::user, "example"), demo, says(Role::user, "go"), says(Role::assistant, "one")});
  REQUIRE(chat.turns() == 1);
  CHECK(chat.prompt(0) == "<bos><h>user</h>\n\nexample<eot>" + kOpenAnswer +
                              "```bash\nls\n```<eot><h>user</h>\n\ngo<eot>" + kOpenAnswer);
  CHECK(chat.kinds() == std::vector{SegmentKind::user, SegmentKind::user, SegmentKind::user,
                                    SegmentKind::role_prefix, SegmentKind::assistant_text,
                                    SegmentKind::end_of_turn});
}

TEST_CASE("a tool call follows the text as JSON and closes with a bash block that names the tool",
          "[chat]") {
  const Chat chat({says(Role::user, "go"), calls("Let me look", "cd", R"({"name":"cd"})")});
  CHECK(chat.answer(0) == "Let me look\n{\"name\":\"cd\"}\n```bash\ncd\n```<eot>");
  CHECK(chat.tool(0) == "cd");
}

TEST_CASE("an answer that holds one bash block already gets no second one", "[chat]") {
  const Chat chat({says(Role::user, "go"), calls("Look\n```bash\nls -l\n```", "bash", "{}")});
  CHECK(chat.answer(0) == "Look\n```bash\nls -l\n```\n{}<eot>");
  CHECK(chat.tool(0) == "ls");
}

TEST_CASE("two bash blocks leave a turn without a tool", "[chat]") {
  const Chat chat(
      {says(Role::user, "go"), says(Role::assistant, "```bash\na\n```\n```bash\nb\n```")},
      ToolFallback::function_tag);
  CHECK(chat.tool(0).empty());
}

TEST_CASE("an XML call names the tool only when the fallback is asked for", "[chat]") {
  const std::vector<ChatMessage> xml{says(Role::user, "go"),
                                     says(Role::assistant, "Look\n<function=bash>\n</function>")};
  CHECK(Chat(xml, ToolFallback::none).tool(0).empty());
  CHECK(Chat(xml, ToolFallback::function_tag).tool(0) == "bash");
  CHECK(Chat(xml, ToolFallback::function_tag).answer(0) ==
        "Look\n<function=bash>\n</function><eot>");
}

TEST_CASE("the parts of a prompt and of an answer are distinguished token by token", "[chat]") {
  const Chat chat({says(Role::system, "rules"), says(Role::user, "go"), calls("Look", "cd", "{}"),
                   says(Role::tool, "out"), says(Role::assistant, "End")});
  CHECK(chat.kinds() ==
        std::vector{SegmentKind::system, SegmentKind::user, SegmentKind::role_prefix,
                    SegmentKind::assistant_text, SegmentKind::tool_calls, SegmentKind::tool_block,
                    SegmentKind::end_of_turn, SegmentKind::tool_response, SegmentKind::role_prefix,
                    SegmentKind::assistant_text, SegmentKind::end_of_turn});
  CHECK(chat.segment(0) == "<bos><h>system</h>\n\nrules<eot>");
  CHECK(chat.segment(3) == "Look");
  CHECK(chat.segment(4) == "\n{}");
  CHECK(chat.segment(5) == "\n```bash\ncd\n```");
  CHECK(chat.segment(7) == "<h>tool</h>\n\nout<eot>");
  CHECK(chat.job().segments[6].turn == 0);
  CHECK(chat.job().segments[7].turn == 1);
}

TEST_CASE("a token that spans two parts of an answer belongs to the part of its first byte",
          "[chat]") {
  // The text ends with a line end, which forms one token with the one between the parts.
  const Chat chat({says(Role::user, "go"), calls("Look\n", "cd", "{}")});
  CHECK(chat.segment(2) == "Look\n\n");
  CHECK(chat.segment(3) == "{}");
}

TEST_CASE("a user message after a call of a tool in plain text is the tool's response", "[chat]") {
  const Chat chat({says(Role::user, "go"), says(Role::assistant, "```bash\nls\n```"),
                   says(Role::user, "a.txt"), says(Role::assistant, "Which one?"),
                   says(Role::user, "that"), says(Role::assistant, "ok")});
  CHECK(chat.job().segments[4].kind == SegmentKind::tool_response);
  CHECK(chat.job().segments[8].kind == SegmentKind::user);
}

TEST_CASE("segments cover every token once and meet the turns' borders", "[chat]") {
  const Chat chat({says(Role::user, "go"), calls("", "cd", "{}"), says(Role::tool, ""),
                   says(Role::assistant, "")});
  std::vector<int> ends;
  int end = 0;
  for (const Segment& segment : chat.job().segments) ends.push_back(end += segment.tokens);
  CHECK(static_cast<std::size_t>(end) == chat.job().tokens.size());
  for (const Turn& turn : chat.job().turns) {
    CHECK(std::count(ends.begin(), ends.end(), turn.prompt_tokens) == 1);
    CHECK(std::count(ends.begin(), ends.end(), turn.prompt_tokens + turn.output_tokens) == 1);
  }
}
