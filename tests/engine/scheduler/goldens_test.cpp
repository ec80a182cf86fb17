#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "tests/engine/replay/replay.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Output {
  std::string text;
  int exit_code;
};

Output output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

std::vector<json> parsed_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

/// The first line that differs, or an empty string.
std::string difference(const std::vector<json>& golden, const std::vector<json>& ours) {
  for (std::size_t i = 0; i < std::min(golden.size(), ours.size()); ++i) {
    if (golden[i] != ours[i])
      return "line " + std::to_string(i + 1) + "\n  golden " + golden[i].dump() + "\n  ours   " +
             ours[i].dump();
  }
  if (golden.size() == ours.size()) return "";
  return std::to_string(golden.size()) + " lines, found " + std::to_string(ours.size());
}

/// True for goldens recorded with KV blocks that are registered but never computed; the correct
/// result differs there.
bool has_phantoms(const std::string& name) {
  static const std::set<std::string> kNames = {"h070",  "h144",  "p007",  "p051",  "q_phantom_hit",
                                               "q0011", "q0014", "q0021", "q0034", "q0081",
                                               "q0091", "q0207", "q0348"};
  return kNames.contains(name) || kNames.contains(name.substr(0, name.find('_')));
}

/// Runs the program on a workload and returns its message if it refuses as it should: exit code 2,
/// one line on standard error, nothing on standard output.
std::string refusal(const std::string& path) {
  support::TempDir dir;
  const std::string err = (dir.path() / "stderr").string();
  const Output out = output_of(std::string(KVSWEEP_SCHEDULER_REPLAY) + " '" + path + "' 2>" + err);
  CHECK(out.exit_code == 2);
  CHECK(out.text.empty());
  const std::string message = output_of("cat " + err).text;
  CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  CHECK(message.find(path) != std::string::npos);
  return message;
}

const json kWorkload = json::parse(R"({
  "name": "small", "note": "",
  "config": {"num_gpu_blocks": 8, "block_size": 4, "max_num_batched_tokens": 16, "max_num_seqs": 4,
             "max_model_len": 28, "long_prefill_token_threshold": 0,
             "enable_prefix_caching": true, "enable_chunked_prefill": true, "policy": "fcfs",
             "scheduler_reserve_full_isl": true},
  "requests": [{"id": "a", "arrival_step": 0, "prompt": [1, 2, 3, 4, 5], "output_len": 2,
                "output_tokens": [6, 7]}]})");

std::string refusal_of(const json& workload) {
  support::TempDir dir;
  return refusal(dir.write("workload.json", workload.dump()));
}

std::string refusal_with(const std::string& pointer, const json& value) {
  json workload = kWorkload;
  workload[json::json_pointer(pointer)] = value;
  return refusal_of(workload);
}

std::string refusal_without(const std::string& object, const std::string& key) {
  json workload = kWorkload;
  workload[json::json_pointer(object)].erase(key);
  return refusal_of(workload);
}

bool says(const std::string& message, const std::string& text) {
  UNSCOPED_INFO(message);
  return message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("every recorded decision is reproduced in all its fields", "[goldens]") {
  const auto folder = support::shared_path("goldens/scheduler");
  if (!folder) SKIP_TEST("recorded decisions (../shared/goldens/scheduler) are not here");
  int compared = 0, left_out = 0;
  for (const auto& entry : fs::directory_iterator(*folder / "workloads")) {
    const std::string name = entry.path().stem().string();
    if (has_phantoms(name)) {
      ++left_out;
      continue;
    }
    const fs::path golden = *folder / "golden" / (name + ".jsonl.gz");
    const Output unzipped = output_of("gzip -dc '" + golden.string() + "'");
    REQUIRE(unzipped.exit_code == 0);
    std::ostringstream ours;
    worker::replay_scheduling(entry.path().string(), engine::Version::may_2026, ours);
    const auto lines = parsed_lines(unzipped.text);
    INFO(name);
    REQUIRE(lines.size() > 1);
    REQUIRE(difference(lines, parsed_lines(ours.str())) == "");
    ++compared;
  }
  CHECK(compared == 250);
  CHECK(left_out == 9);
}

namespace {

/// Compares every recording in the folder; returns how many there are.
int compare_async(const fs::path& shared, const char* folder, worker::AsyncVariant variant) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(shared / "scheduler-async" / folder)) {
    const std::string name = entry.path().stem().stem().string();
    const Output unzipped = output_of("gzip -dc '" + entry.path().string() + "'");
    REQUIRE(unzipped.exit_code == 0);
    std::ostringstream ours;
    const fs::path workload = shared / "scheduler" / "workloads" / (name + ".json");
    worker::replay_async_scheduling(workload.string(), engine::Version::may_2026, variant, ours);
    const auto lines = parsed_lines(unzipped.text);
    INFO(name);
    REQUIRE(lines.size() > 1);
    REQUIRE(difference(lines, parsed_lines(ours.str())) == "");
    ++compared;
  }
  return compared;
}

}  // namespace

TEST_CASE("every recorded asynchronous decision is reproduced in all its fields", "[goldens]") {
  const auto shared = support::shared_path("goldens");
  if (!shared || !fs::exists(*shared / "scheduler-async"))
    SKIP_TEST("recorded decisions (../shared/goldens/scheduler-async) are not here");
  CHECK(compare_async(*shared, "golden", worker::AsyncVariant::none) == 256);
  CHECK(compare_async(*shared, "golden-late-abort", worker::AsyncVariant::late_abort) == 51);
  CHECK(compare_async(*shared, "golden-eos", worker::AsyncVariant::eos) == 255);
}

namespace {

struct Recordings {
  const char* folder;
  std::optional<worker::AsyncVariant> variant;  // empty: synchronous
  int count;
};
using worker::AsyncVariant;
constexpr Recordings kOf033[] = {{"sync", std::nullopt, 87},
                                 {"async", AsyncVariant::none, 87},
                                 {"async-eos", AsyncVariant::eos, 63},
                                 {"async-late-abort", AsyncVariant::late_abort, 5},
                                 {"sync-tier", std::nullopt, 55},
                                 {"async-tier", AsyncVariant::none, 55},
                                 {"async-tier-eos", AsyncVariant::eos, 55},
                                 {"async-tier-late-abort", AsyncVariant::late_abort, 8}};

/// The workload of a recording of 0.33: its own, or one that the recordings of May 2026 have.
fs::path workload_of_033(const fs::path& shared, const std::string& name) {
  const fs::path own = shared / "vllm-0.33" / "workloads" / (name + ".json");
  return fs::exists(own) ? own : shared / "scheduler" / "workloads" / (name + ".json");
}

std::string replay_as_033(const fs::path& workload, std::optional<AsyncVariant> variant) {
  std::ostringstream ours;
  if (variant) {
    worker::replay_async_scheduling(workload.string(), engine::Version::v0_33, *variant, ours);
  } else {
    worker::replay_scheduling(workload.string(), engine::Version::v0_33, ours);
  }
  return ours.str();
}

}  // namespace

TEST_CASE("every recorded decision of vLLM 0.33 is reproduced in all its fields", "[goldens]") {
  const auto shared = support::shared_path("goldens");
  if (!shared || !fs::exists(*shared / "vllm-0.33"))
    SKIP_TEST("recorded decisions (../shared/goldens/vllm-0.33) are not here");
  for (const auto& [folder, variant, count] : kOf033) {
    int compared = 0;
    for (const auto& entry : fs::directory_iterator(*shared / "vllm-0.33" / "golden" / folder)) {
      const std::string name = entry.path().stem().stem().string();
      const Output unzipped = output_of("gzip -dc '" + entry.path().string() + "'");
      REQUIRE(unzipped.exit_code == 0);
      const auto lines = parsed_lines(unzipped.text);
      INFO(folder << ' ' << name);
      REQUIRE(lines.size() > 1);
      const std::string ours = replay_as_033(workload_of_033(*shared, name), variant);
      REQUIRE(difference(lines, parsed_lines(ours)) == "");
      ++compared;
    }
    CHECK(compared == count);
  }
}

TEST_CASE("a key that the replayed release does not have is refused", "[goldens]") {
  CHECK(says(refusal_with("/config/watermark", 0.1), "needs --scheduler vllm-0.33, found 0.1"));
  CHECK(says(refusal_with("/config/tier", json::object()), "needs --scheduler vllm-0.33"));
  CHECK(says(refusal_with("/config/max_num_active_seqs", 2), "key \"max_num_active_seqs\""));
  CHECK(says(refusal_with("/requests/0/lora", 2), "requests[0]: key \"lora\" is unknown"));
  CHECK(says(refusal_with("/comment", "none"), "workload: key \"comment\" is unknown"));
  CHECK(says(refusal_with("/requests/0/prompt", {{"segments", json::array()}, {"text", "a"}}),
             "prompt: key \"text\" is unknown"));
}

TEST_CASE("scheduler-replay --async schedules a step before the last one is applied", "[goldens]") {
  support::TempDir dir;
  const std::string path = dir.write("workload.json", kWorkload.dump());
  const std::string program = KVSWEEP_SCHEDULER_REPLAY;
  const Output out = output_of(program + " --async '" + path + "'");
  CHECK(out.exit_code == 0);
  const auto lines = parsed_lines(out.text);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0]["applied"] == nullptr);
  CHECK(lines[1]["scheduled"][0]["outputs_known"] == 0);
  CHECK(lines[1]["applied_tokens"] == json::parse(R"([["a", 6, "running"]])"));
  CHECK(lines[2]["scheduled"].empty());
  CHECK(lines[2]["finished"] == json{"a"});
  CHECK(lines[4]["schedule_called"] == false);
  for (const char* wrong : {"--late-abort", "--async --late", "--eos --async", "--async",
                            "--scheduler v1", "--scheduler vllm-9 x", "--async --scheduler v1 x"})
    CHECK(output_of(program + ' ' + wrong + " 2>/dev/null").exit_code == 2);
  CHECK(output_of(program + " --late-abort '" + path + "' 2>/dev/null").exit_code == 2);
}

TEST_CASE("scheduler-replay says where it differs from a recording, and by which rules",
          "[goldens]") {
  support::TempDir dir;
  const std::string path = dir.write("workload.json", kWorkload.dump());
  const std::string program = KVSWEEP_SCHEDULER_REPLAY;
  const std::string recorded = output_of(program + " '" + path + "'").text;
  const auto compared = [&](const std::string& recording) {
    return output_of(program + " --against '" + dir.write("recorded.jsonl", recording) + "' '" +
                     path + "'");
  };
  CHECK(compared(recorded).exit_code == 0);
  std::string other = recorded;
  other.replace(other.find("\"free_queue_head\":["), 19, "\"free_queue_head\":[9,");
  const Output differs = compared(other);
  CHECK(differs.exit_code == 1);
  CHECK(says(differs.text,
             "line 1 differs\n  free_queue_head (rules 8, 10, N1, T14)\n    recorded [9,"));
  const Output longer = compared(recorded.substr(0, recorded.find('\n') + 1));
  CHECK(longer.exit_code == 1);
  CHECK(longer.text == "line 2: only the replay goes on\n");
}

TEST_CASE("scheduler-replay prints one JSON line a step and the final pool", "[goldens]") {
  support::TempDir dir;
  const std::string path = dir.write("workload.json", kWorkload.dump());
  const Output out = output_of(std::string(KVSWEEP_SCHEDULER_REPLAY) + " '" + path + "'");
  CHECK(out.exit_code == 0);
  const auto lines = parsed_lines(out.text);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["scheduled"][0]["block_ids"] == json{1, 2});
  CHECK(lines[1]["finished"] == json{"a"});
  CHECK(lines[2] == json::parse(R"({"end": true, "steps": 2, "free_queue": [3, 4, 5, 6, 7, 2, 1],
                                    "cached_block_ids": [1]})"));
}

TEST_CASE("a workload file that is missing or not JSON is refused", "[goldens]") {
  support::TempDir dir;
  CHECK(says(refusal((dir.path() / "none.json").string()), "cannot be read"));
  CHECK(says(refusal(dir.write("broken.json", R"({"name": "x", "config": {)")), "is not JSON"));
  CHECK(says(refusal(dir.write("empty.json", "")), "is not JSON"));
  CHECK(says(refusal(dir.write("list.json", "[1, 2]")), "workload must be an object"));
  CHECK(says(refusal(dir.write("deep.json", std::string(100'000, '['))), "nested too deeply"));
  CHECK(says(refusal(dir.write("twice.json", R"({"name": "a", "name": "b"})")), "stands twice"));
}

TEST_CASE("a workload of wrong types is refused with the field and what was found", "[goldens]") {
  CHECK(says(refusal_with("/config/block_size", "16"), "config.block_size must be an integer"));
  CHECK(says(refusal_with("/config/block_size", 1.5), "found 1.5"));
  CHECK(says(refusal_with("/config/enable_prefix_caching", 1), "must be true or false"));
  CHECK(says(refusal_with("/config", json::array()), "config must be an object"));
  CHECK(says(refusal_with("/requests", 3), "workload.requests must be an array"));
  CHECK(says(refusal_with("/requests/0", 3), "requests[0] must be an object"));
  CHECK(says(refusal_with("/requests/0/id", 7), "requests[0].id must be a string"));
  CHECK(says(refusal_with("/requests/0/arrival_step", -1), "found -1"));
  CHECK(says(refusal_with("/requests/0/prompt", {1, "two"}), "found \"two\""));
  CHECK(says(refusal_with("/requests/0/prompt", {{"segments", {{1, 2}}}}), "triples"));
  CHECK(says(refusal_with("/requests/0/prompt", nullptr), "prompt"));
  CHECK(says(refusal_with("/requests/0/arrival_time", "noon"), "must be a number"));
}

TEST_CASE("numbers out of any range are refused", "[goldens]") {
  CHECK(says(refusal_with("/config/num_gpu_blocks", 1), "num_gpu_blocks"));
  CHECK(says(refusal_with("/config/num_gpu_blocks", 99999999999999), "num_gpu_blocks"));
  CHECK(says(refusal_with("/config/max_num_seqs", 1e300), "max_num_seqs"));
  CHECK(says(refusal_with("/config/max_num_seqs", 18446744073709551615u), "max_num_seqs"));
  CHECK(says(refusal_with("/requests/0/priority", 18446744073709551615u), "priority"));
  CHECK(says(refusal_with("/requests/0/output_len", 0), "output_len"));
  const json segment = {1, 0, 6'000'000};
  CHECK(says(refusal_with("/requests/0/prompt", {{"segments", {segment, segment}}}),
             "must have at most 10000000 tokens"));
  CHECK(says(refusal_with("/requests/0/prompt", {{"segments", {{1, 0, 1ll << 60}}}}), "triples"));
}

TEST_CASE("a workload with a missing key is refused with its name", "[goldens]") {
  CHECK(says(refusal_without("", "name"), "workload: name is missing"));
  CHECK(says(refusal_without("", "config"), "config is missing"));
  CHECK(says(refusal_without("", "requests"), "requests is missing"));
  for (const auto& key : {"num_gpu_blocks", "block_size", "policy", "enable_chunked_prefill"})
    CHECK(says(refusal_without("/config", key), std::string("config: ") + key + " is missing"));
  for (const auto& key : {"id", "arrival_step", "prompt", "output_len"})
    CHECK(says(refusal_without("/requests/0", key), std::string(key) + " is missing"));
  CHECK(says(refusal_without("/requests/0", "output_tokens"), "out_seed is missing"));
}

TEST_CASE("a request that can never be served is refused", "[goldens]") {
  CHECK(says(refusal_with("/requests/0/prompt", json(28, 1)), "prompt of 1 to 27 tokens"));
  CHECK(says(refusal_with("/requests/0/prompt", json::array()), "found 0"));
  CHECK(says(refusal_with("/config/num_gpu_blocks", 2), "needs 2 blocks, found 1 usable"));
  CHECK(says(refusal_with("/requests/0/output_len", 3), "output_tokens must give output_len"));
}

TEST_CASE("a repeated id, an unknown policy and contradictory limits are refused", "[goldens]") {
  json twice = kWorkload;
  twice["requests"].push_back(twice["requests"][0]);
  CHECK(says(refusal_of(twice), "requests[1].id must be unique, found \"a\" again"));
  CHECK(says(refusal_with("/config/policy", "lifo"), "must be \"fcfs\" or \"priority\", found"));
  CHECK(says(refusal_with("/config/max_num_seqs", 17), "must be at least max_num_seqs"));
  CHECK(says(refusal_with("/config/enable_chunked_prefill", false), "at least max_model_len"));
}
