// Chats replayed as traces, beside the same chats replayed as trajectories.
#include <random>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/working_set.hpp"

using support::Cell;
using support::ints;

namespace {

/// Chats that begin alike, with texts and tool times at random.
std::string chats(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto text = [&] {
    std::string words;
    for (std::size_t left = random() % 900; left > 0; --left)
      words += static_cast<char>('a' + random() % 20);
    return words;
  };
  std::string lines;
  for (int chat = 0; chat < count; ++chat) {
    std::string messages = R"({"role": "system", "content": ")" + std::string(700, 's') +
                           R"("}, {"role": "user", "content": ")" + text() + "\"}";
    std::string turns;
    for (int turn = 0; turn < 5; ++turn) {
      if (turn > 0) messages += R"(, {"role": "tool", "content": ")" + text() + "\"}";
      messages += R"(, {"role": "assistant", "content": "```bash\nls )" + text() + "\\n```\"}";
      turns +=
          (turn > 0 ? R"(, {"exec_s": )" : R"({"exec_s": )") + std::to_string(random() % 9) + "}";
    }
    lines += R"({"id": "c)" + std::to_string(chat) + R"(", "messages": [)" + messages +
             R"(], "turns": [)" + turns + "]}\n";
  }
  return lines;
}

Cell replaying(const std::string& path, const char* kind) {
  Cell cell;
  cell.set("workload.kind", kind).set("workload.path", path).set("jps", 2);
  return cell.set("engine.kv_tokens", 6000).set("engine.max_model_len", 4096);
}

}  // namespace

TEST_CASE("chats as a trace are served exactly as the same chats as trajectories") {
  const support::TempDir folder;
  const std::string path = folder.write("chats.jsonl", chats(1, 30));
  for (const char* policy : {"fcfs", "continuum", "cpu_offload"}) {
    INFO(policy);
    Cell trace = replaying(path, "trace").set("policy", policy);
    Cell texts = replaying(path, "trajectories").set("policy", policy);
    texts.set("workload.gap", "recorded");
    if (std::string(policy) == "cpu_offload") {
      trace.set("dram_gib", 1);
      texts.set("dram_gib", 1);
    }
    const sweep::CellResult a = trace.run(), b = texts.run();
    CHECK(sweep::same_results(a.turns, b.turns));
    CHECK(sweep::same_results(a.kv_events, b.kv_events));
    CHECK(sweep::same_results(a.steps, b.steps));
  }
}

TEST_CASE("a pool that never evicts finds of each prompt what a chat shares, answers included") {
  const support::TempDir folder;
  const std::string path = folder.write("chats.jsonl", chats(2, 12));
  const workload::TraceSet set = workload::read_trace(path);
  for (const int block_size : {16, 64}) {
    INFO(block_size);
    Cell cell = replaying(path, "trace").without("jps");
    cell.set("workload.arrivals", "live").set("workload.live", 1);
    cell.set("engine.kv_tokens", 500'000).set("engine.block_size", block_size);
    const sweep::CellResult result = cell.run();
    const auto ideal = workload::ideal_sharing(set, block_size);
    const auto &job = ints(result.turns, "job"), &turn = ints(result.turns, "turn"),
               &hit = ints(result.turns, "cached_gpu_tok");
    REQUIRE(job.size() == 60);
    for (std::size_t i = 0; i < job.size(); ++i) {
      INFO("chat " << job[i] << ", turn " << turn[i]);
      CHECK(hit[i] ==
            ideal[static_cast<std::size_t>(job[i])][static_cast<std::size_t>(turn[i])].from_all);
    }
  }
}
