#include "tests/fuzz/targets.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/arrivals.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/request_list.hpp"
#include "workers/workload/trace/play.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace fuzz {
namespace {

using engine::InputError;

const InputFile& file() {
  static const InputFile kFile;
  return kFile;
}

const std::vector<std::string> kJsonWords = {"{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             ":",
                                             "\"",
                                             "null",
                                             "true",
                                             "-1",
                                             "0",
                                             "1e308",
                                             "1e999",
                                             "\"\"",
                                             "[null]",
                                             "[{}]",
                                             "\n",
                                             "\\u0000",
                                             "\xff",
                                             "\"\\ud800\"",
                                             "\"id\"",
                                             "\"role\"",
                                             "\"content\"",
                                             "\"messages\"",
                                             "18446744073709551615",
                                             "\"type\"",
                                             "\"turns\"",
                                             "\"assistant\"",
                                             "\"vocab\"",
                                             "\"merges\""};

bool lines(std::string_view bytes) {
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] {
    workload::LineReader reader(path);
    while (reader.next()) {
    }
  });
}

bool requests(std::string_view bytes) {
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] { workload::read_sizes(path); });
}

bool arrivals(std::string_view bytes) {
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] { workload::trace_arrivals(path); });
}

bool trace(std::string_view bytes) {
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] {
    workload::Workload played =
        workload::play(std::make_shared<workload::TraceSet>(workload::read_trace(path)), {}, 0)
            .workload;
    std::vector<engine::TokenId> tokens;
    if (workload::longest_turn(played.jobs.front()) < 1 << 16) played.prompts->make(0, 0, tokens);
  });
}

}  // namespace

Target gzip_target() {
  // "one\n\ntwo\n", packed
  return {"gzip", lines, [] {
            return std::vector<std::string>{
                std::string("\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\xcf\x4b\xe5\xe2\x2a\x29\xcf\xe7\x02"
                            "\0\xbf\x67\x44\x25"
                            "\x09\0\0\0",
                            29)};
          }};
}

Target requests_target() {
  return {"requests",
          requests,
          [] { return std::vector<std::string>{"# prompt output\n378 68\n\n  29\t166  \r\n"}; },
          {"\n", " ", "#", "-1", "0", "16777217", "99999999999999999999", "1e3", ",", "\xff"}};
}

Target arrivals_target() {
  return {"arrivals",
          arrivals,
          [] { return std::vector<std::string>{"# s\n0\n0.5\n1e2\n"}; },
          {"\n", "#", "nan", "inf", "-1", "1e308", "{", " "}};
}

Target trace_target() {
  std::vector<std::string> words = kJsonWords;
  for (const char* word :
       {"\"extends\": 0", "\"extends\": [0, 9]", "\"after\": [0]", "\"agent\": \"b\"",
        "\"gap_s\": 1", "\"start_s\": 2", "\"tool\": \"ls\"", "[null, 5]", "[1, 67108864]",
        "\"role\"", "\"turns\"", "\"prompt\"", "\"answer\"", "\"jobs\": 1"})
    words.push_back(word);
  return {"trace", trace,
          [] {
            const std::string head =
                R"({"kvsweep_trace": 1, "converter": "t", "counts": {"jobs": 1, "turns": 2, )"
                R"("prompt_tokens": 57, "answer_tokens": 9, "arrivals": 1, "gaps": 1, )"
                R"("starts": 0}, "assumed": ["a"], "left_out": [{"what": "b", "count": 1}]})";
            const std::string job =
                R"({"job": "a", "arrival_s": 1, "turns": [{"prompt": [["s", 9, "system"], )"
                R"([1, 10, "user"]], "answer": [[null, 4]], "tool": "ls"}, {"extends": 0, )"
                R"("gap_s": 1.5, "agent": "b", "after": [0], "prompt": [[2, 15]], )"
                R"("answer": [[null, 5]]}]})";
            return std::vector<std::string>{head + "\n" + job + "\n"};
          },
          words};
}

}  // namespace fuzz
