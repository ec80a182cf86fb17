#include "workers/workload/chat_format.hpp"

#include <string>

#include "tests/support/catch.hpp"

using workload::count_bash_blocks;
using workload::function_tag_name;
using workload::tool_word;

TEST_CASE("the tool is the first word of the only bash block", "[tool]") {
  CHECK(tool_word("I look.\n\n```bash\nls -la src\n```") == "ls");
  CHECK(tool_word("```bash\n  \n\tgrep x\n```") == "grep");
}

TEST_CASE("a bash block counts wherever it is in the answer", "[tool]") {
  CHECK(tool_word("```bash\nsubmit\n```\nThat should do.") == "submit");
}

TEST_CASE("two bash blocks name no tool", "[tool]") {
  CHECK(tool_word("```bash\ncd a\n```\n```bash\nls\n```").empty());
  CHECK(count_bash_blocks("```bash\ncd a\n```\n```bash\nls\n```") == 2);
}

TEST_CASE("an answer without a closed bash block names no tool", "[tool]") {
  CHECK(tool_word("").empty());
  CHECK(tool_word("run ls").empty());
  CHECK(tool_word("```python\nprint()\n```").empty());
  CHECK(tool_word("```bash\nls -la").empty());
  CHECK(tool_word("```bash ls```").empty());
}

TEST_CASE("a block needs its own line end before the closing fence", "[tool]") {
  CHECK(count_bash_blocks("```bash\n```") == 0);
  CHECK(count_bash_blocks("```bash\n\n```") == 1);
  CHECK(tool_word("```bash\n\n```").empty());
}

TEST_CASE("an unclosed second block does not hide the first", "[tool]") {
  CHECK(tool_word("```bash\nfind .\n```\n```bash\nls") == "find");
}

TEST_CASE("a function tag names its function", "[tool]") {
  CHECK(function_tag_name(
            "Look:\n<function=bash>\n<parameter=command>ls</parameter>\n</function>") == "bash");
  CHECK(function_tag_name("<function=a></function> then <function=b></function>") == "b");
  CHECK(function_tag_name("no call").empty());
  CHECK(function_tag_name("<function=unclosed").empty());
  CHECK(function_tag_name("<function=broken\n>").empty());
}
