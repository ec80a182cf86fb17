#include <lzma.h>

#include <cstdint>

#include "tests/fuzz/targets.hpp"
#include "tests/workload/tokenizer_fixture.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/arrivals.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/request_list.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/working_set.hpp"
#include "workers/workload/trajectories.hpp"

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

std::string xz(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t used = 0;
  lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr,
                          reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                          reinterpret_cast<std::uint8_t*>(packed.data()), &used, packed.size());
  return packed.substr(0, used);
}

bool trajectories(std::string_view bytes) {
  static const auto kTokenizer = workload::byte_estimate_tokenizer();
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] {
    workload::read_trajectories(
        {.path = path, .gap = {.recorded = true, .fallback_s = 1}, .curation = {}}, *kTokenizer);
  });
}

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
  return accepted<InputError>(path,
                              [&] { workload::published_sharing(workload::read_trace(path)); });
}

bool tokenizer(std::string_view bytes) {
  const std::string& path = file().holding(bytes);
  return accepted<InputError>(path, [&] {
    std::vector<engine::TokenId> ids;
    workload::load_tokenizer(path)->encode("It's 123 words,\n\n and \xff more  ", ids);
  });
}

}  // namespace

Target trajectories_target() {
  return {
      "trajectories", trajectories,
      [] {
        const std::string user = R"({"id": "a", "messages": [{"role": "user", "content": "go"},)";
        return std::vector<std::string>{
            user + R"( {"role": "assistant", "content": "look\n```bash\nls\n```"},)" +
                R"( {"role": "tool", "content": "x"}, {"role": "assistant", "content": null}],)" +
                R"( "turns": [{"tool": "ls", "exec_s": 0.5}, {"exec_s": 1}]})" + "\n" +
                R"({"traj_id": "b", "messages": "[{\"role\": \"user\"}, {\"role\": )" +
                R"(\"assistant\"}]"})",
            user + R"( {"role": "assistant", "content": [{"type": "text", "text": "t"}],)" +
                R"( "tool_calls": [{"function": {"name": "cd", "arguments": "{}"}}]}]})"};
      },
      kJsonWords};
}

Target xz_target() {
  return {"xz", lines, [] {
            return std::vector<std::string>{xz("one\n\ntwo\n"), xz("one\ntw") + xz("o"),
                                            xz(std::string(5000, 'x'))};
          }};
}

Target requests_target() {
  return {"requests",
          requests,
          [] { return std::vector<std::string>{"# prompt output\n378 68\n\n  29\t166  \r\n"}; },
          {"\n", " ", "#", "-1", "0", "16777217", "99999999999999999999", "1e3", ",", "\xff"}};
}

Target arrivals_target() {
  std::vector<std::string> words = kJsonWords;
  for (const char* word :
       {"t_s", "timestamp", "TIMESTAMP", "nan", "inf", "2200-12-31", "-", "T", "Z"})
    words.push_back(word);
  return {"arrivals", arrivals,
          [] {
            return std::vector<std::string>{
                "# s\n0\n0.5\n1e2\n", "{\"t_s\": 0}\n{\"timestamp\": 1500}\n",
                "TIMESTAMP,a\n2023-11-16 18:17:03.9799600,1\n2023-11-16T18:17:04Z,2\n",
                "a,t_s\n1,0.25\n2,\"0.5\"\n"};
          },
          words};
}

/// One seed for each format of JSON lines.
Target trace_target() {
  std::vector<std::string> words = kJsonWords;
  for (const char* word :
       {"\"hash_ids\": [1]", "\"hash_ids\"", "\"wait_for\"", "\"subagent\"", "\"t\"", "1e12",
        "\"request_id\"", "\"local\"", "\"global\"", "512", "hash_\\u0069ds"})
    words.push_back(word);
  return {
      "trace", trace,
      [] {
        const std::string request = R"({"t": 1, "type": "n", "in": 130, "out": 5, )"
                                    R"("hash_ids": [1, 2], "api_time": 1, "think_time": 2})";
        return std::vector<std::string>{
            R"({"id": "a", "block_size": 64, "hash_id_scope": "local", "requests": [)" + request +
                R"(, {"type": "subagent", "t": 3, "duration_ms": 1000, "agent_id": "b", )" +
                R"("requests": [)" + request + "]}, " + request + "]}\n",
            R"({"timestamp": 0, "input_length": 600, "output_length": 8, "hash_ids": [1, 2]})"
            "\n"
            R"({"timestamp": 5, "input_length": 600, "output_length": 8, "hash_ids": [1, 3]})",
            R"({"request_id": "a", "input_length": 600, "output_length": 8, "hash_ids": [1, 2]})"
            "\n"
            R"({"request_id": "b", "input_length": 600, "output_length": 8, "hash_ids": [1], )"
            R"("wait_for": ["a"], "tool_wait_ms": 5})",
            "# prompt output\n378 68\n29\t166\n",
            R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 1.5, "input_length": 20, )"
            R"("output_length": 8, "hash_ids": [1, 2]})",
            R"({"session_id": "s", "round_index": 0, "input_tokens_total": 30, "prefix_tokens": )"
            R"(20, "output_tokens": 9, "timing_events": [{"event_type": "text", "timestamp": )"
            R"("2026-06-01T05:40:20.151Z"}], "tools": [{"tool_name": "ls"}]})",
            R"({"id": "a", "messages": [{"role": "user", "content": "go"}, {"role": )"
            R"("assistant", "content": "look"}], "turns": [{"exec_s": 1}]})",
            R"([{"id": "a", "conversations": [{"from": "human", "value": "go"}, {"from": "gpt", )"
            R"("value": "look"}]}, {"conversations": []}])"};
      },
      words};
}

Target trace_csv_target() {
  return {"trace_csv",
          trace,
          [] {
            return std::vector<std::string>{
                "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
                "2023-11-16 18:17:04.0319600,3180,8\n",
                "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                "5,ChatGPT,472,18,490,Conversation log\n"};
          },
          {",", "\n", "-1", "1e12", "nan", "inf", "\"", "2023-11-16", "ContextTokens", "\xff"}};
}

Target tiktoken_target() {
  return {"tiktoken",
          tokenizer,
          [] {
            using namespace tokenizer_test;
            return std::vector<std::string>{rank_file(bytes_and({"ab", "abc", " a"}))};
          },
          {"=", "\n", " ", "==", "0", "-1", "256", "18446744073709551615", "YWI=", "\r", "{"}};
}

Target tokenizer_json_target() {
  std::vector<std::string> words = kJsonWords;
  for (const char* word :
       {R"({"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Isolated"})",
        "\"Sequence\"", "\"pretokenizers\"", "\"Digits\"", "\\\\K", "(?=", "(a+)+"})
    words.push_back(word);
  return {
      "tokenizer_json", tokenizer,
      [] {
        nlohmann::json json = tokenizer_test::tokenizer_json({{"a", "b"}, {"ab", "c"}});
        const std::string plain = json.dump();
        json["pre_tokenizer"] = nlohmann::json::parse(
            R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",)"
            R"( "pattern": {"Regex": "\\p{N}{1,3}|\\s+"}}, {"type": "Digits"}]})");
        json["added_tokens"] = {{{"id", 300}, {"content", "<|eot_id|>"}}};
        json["normalizer"] = {{"type", "NFC"}};
        return std::vector<std::string>{plain, json.dump()};
      },
      words};
}

}  // namespace fuzz
