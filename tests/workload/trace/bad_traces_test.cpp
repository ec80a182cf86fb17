#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace {

/// Reads `text` as a file of this name, and expects one line that names the file and says
/// `problem`.
void check_refused(const std::string& text, const std::string& problem,
                   const std::string& name = "t.jsonl") {
  const support::TempDir folder;
  const std::string path = folder.write(name, text);
  INFO(text);
  try {
    workload::read_trace(path);
    FAIL("accepted");
  } catch (const engine::InputError& error) {
    const std::string what = error.what();
    CHECK_THAT(what, Catch::Matchers::Contains(problem));
    CHECK(what.starts_with(path));
    CHECK(what.find('\n') == std::string::npos);
  }
}

std::string session(const std::string& requests, const std::string& id = "a") {
  return R"({"id": ")" + id + R"(", "block_size": 64, "hash_id_scope": "local", "requests": [)" +
         requests + "]}\n";
}

std::string request(const std::string& changes = "", const std::string& ids = "1",
                    const std::string& in = "100", const std::string& t = "0") {
  return R"({"t": )" + t + R"(, "type": "n", "in": )" + in + R"(, "out": 5, "hash_ids": [)" + ids +
         "]" + changes + "}";
}

std::string subagent(const std::string& t, const std::string& inner) {
  return R"({"type": "subagent", "t": )" + t + R"(, "duration_ms": 1000, "requests": [)" + inner +
         "]}";
}

std::string row(const std::string& rest) {
  return R"({"input_length": 600, "output_length": 5, "hash_ids": [1, 2], )" + rest + "}\n";
}

}  // namespace

TEST_CASE("lengths that no prompt has are refused", "[trace]") {
  check_refused(session(request("", "1", "1e12")), "in is a number (1000000000000.0)");
  check_refused(session(request("", "1", "-3")), "in is a number (-3)");
  check_refused(session(request("", "1", "100.5")), "a whole number of tokens");
  check_refused("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1e12,5\n",
                ":2: the prompt is \"1e12\"", "t.csv");
  check_refused("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5\n",
                ":2: has fewer columns than the header", "t.csv");
}

TEST_CASE("ids must name the blocks of the prompt", "[trace]") {
  check_refused(session(request("", "", "100")),
                "has 0 block ids for a prompt of 100 tokens; allowed: 1 or 2 blocks of 64 tokens");
  check_refused(session(request("", "1,2,3", "128")), "allowed: 2 blocks of 64 tokens");
  check_refused(session(request("", "1,-2")), "requests[0].hash_ids[1] is not a block id");
  check_refused(session(request("", "1,,2")), "hash_ids[1] is not a block id");
  check_refused(session(request("", "18446744073709551616")), "hash_ids[0] is not a block id");
  check_refused(session(request() + R"(,{"t": 0, "in": 5, "out": 5})"),
                "requests[1] has no hash_ids");
}

TEST_CASE("waits must be for requests that come first", "[trace]") {
  check_refused(row(R"("request_id": "a", "wait_for": ["a"])"), "request a waits for itself");
  check_refused(row(R"("request_id": "a", "wait_for": ["b"])"),
                "request a waits for b, which no line above names");
  check_refused(row(R"("request_id": "a")") + row(R"("request_id": "a")"),
                ":2: request_id a stands on an earlier line already");
  check_refused(row(R"("request_id": "a")") + row(R"("request_id": "b")") +
                    row(R"("request_id": "c", "wait_for": ["a", "b"])"),
                "request c waits for requests of different sessions");
}

TEST_CASE("times must not run backwards", "[trace]") {
  check_refused(session(request("", "1", "100", "5") + "," + request("", "1", "100", "4")),
                "requests[1] starts before the request in front of it");
  check_refused(row(R"("timestamp": 5)") + row(R"("timestamp": 4)"),
                ":2: timestamp lies before the time of the line above");
  check_refused(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1,5\n2023-11-16 18:17:02,1,5\n",
      ":3: lies before the time of the line above", "t.csv");
}

TEST_CASE("a subagent needs a parent, requests and one convention of time", "[trace]") {
  check_refused(session(subagent("1", request())),
                "requests[0] is a subagent without a request of its parent in front of it");
  check_refused(session(request() + "," + subagent("1", "")), "is a subagent without requests");
  const std::string relative = subagent("10", request("", "1", "100", "0"));
  const std::string absolute = subagent("10", request("", "1", "100", "11"));
  check_refused(session(request() + "," + relative + "," + absolute), "mixes subagents");
  check_refused(session(request() + "," + relative) + session(request() + "," + absolute, "b"),
                ":2: subagents count time from another start");
}

TEST_CASE("what is no trace is refused with the formats that are", "[trace]") {
  check_refused("hello\n", "is of no known format of traces; allowed: weka, mooncake");
  check_refused(R"({"a": 1})", "is of no known format of traces");
  check_refused(session(request()) + session(request()), "session \"a\" occurs twice");
  check_refused(session(""), "is of no known format");
  check_refused(R"({"requests": [], "hash_ids": []})", "has no requests");
  check_refused(session(request() + "," + request()).substr(0, 150), "not valid JSON");
}

TEST_CASE("a JSON error behind lists of ids is at its own column", "[trace]") {
  const std::string good = session(request("", "1") + "," + request("", "1"));
  const std::size_t at = good.rfind("]}");
  check_refused(good.substr(0, at) + "!" + good.substr(at),
                "t.jsonl:1:" + std::to_string(at + 1) + ": not valid JSON");
}
