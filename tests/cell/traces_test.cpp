// Recorded programs, replayed by whole cells.
#include <filesystem>
#include <map>
#include <set>

#include "tests/cell/one_session.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/random_sessions.hpp"
#include "workers/engine/base/block_hash.hpp"
#include "workers/workload/trace/play.hpp"
#include "workers/workload/trace/read_trace.hpp"

using support::Cell;
using support::ints;
using support::one_after_the_other;
using support::reals;
using trace_test::TraceText;
using trace_test::TurnText;

namespace {

using Turn = std::pair<int, int>;  // job and turn

/// Leading tokens of each turn's prompt that a cache which never forgets has, when turns are served
/// one after the other: whole blocks, and never the last token.
std::map<Turn, int> ideal_hits(const Cell& cell, const std::string& path, int block_size) {
  const auto& trace = std::get<worker::RecordedTrace>(cell.config().workload.content);
  const auto set = std::make_shared<workload::TraceSet>(workload::read_trace(path));
  const workload::Workload played = workload::play(set, trace.rules, 0).workload;
  std::map<Turn, std::pair<std::uint32_t, int>> order;
  for (std::uint32_t job = 0; job < played.jobs.size(); ++job)
    for (int turn = 0; turn < static_cast<int>(played.jobs[job].turns.size()); ++turn)
      order[{static_cast<int>(played.program_of(job)), played.number_of(job, turn)}] = {job, turn};
  std::map<Turn, int> hits;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::vector<engine::TokenId> tokens;
  for (const auto& [place, of] : order) {
    played.prompts->make(of.first, of.second, tokens);
    const int prompt =
        played.jobs[of.first].turns[static_cast<std::size_t>(of.second)].prompt_tokens;
    tokens.pop_back();  // the KV of the last one is never computed
    int hit = 0;
    bool known = true;
    for (const engine::BlockHash& hash : engine::hash_blocks(tokens, block_size)) {
      known = known && seen.contains({hash.high, hash.low}) && hit + block_size < prompt;
      hit += known ? block_size : 0;
      seen.insert({hash.high, hash.low});
    }
    hits[place] = hit;
  }
  return hits;
}

void check_ideal_hits(const Cell& cell, const std::string& path, int block_size) {
  const sweep::CellResult result = cell.run();
  const auto ideal = ideal_hits(cell, path, block_size);
  const auto& hit = ints(result.turns, "cached_gpu_tok");
  REQUIRE(result.turns.rows() == ideal.size());
  double found = 0;
  for (const auto& [turn, row] : support::turn_rows(result)) {
    INFO("job " << turn.first << ", turn " << turn.second);
    REQUIRE(hit[row] == ideal.at(turn));
    found += hit[row];
  }
  CHECK(found > 0);
}

/// One turn of a random program.
struct Row {
  std::vector<int> waits;
  int blocks;
  double gap_s;
};

/// Programs whose turns wait for up to three earlier ones; three agents take them by turns.
std::vector<std::vector<Row>> random_graphs(unsigned seed, int programs) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  std::vector<std::vector<Row>> all(static_cast<std::size_t>(programs));
  for (auto& program : all) {
    const int rows = 2 + below(12);
    for (int r = 0; r < rows; ++r) {
      Row row{{}, 1 + below(4), 0.25 * below(8)};
      for (int waits = r == 0 ? 0 : 1 + below(3); waits > 0; --waits) {
        const int wait = below(static_cast<std::size_t>(r));
        if (std::ranges::find(row.waits, wait) == row.waits.end()) row.waits.push_back(wait);
      }
      program.push_back(row);
    }
  }
  return all;
}

std::string lines(const std::vector<std::vector<Row>>& graphs) {
  TraceText text;
  for (std::size_t p = 0; p < graphs.size(); ++p) {
    std::vector<TurnText> turns;
    for (const Row& row : graphs[p]) {
      std::string waits;
      for (const int wait : row.waits) waits += (waits.empty() ? "" : ", ") + std::to_string(wait);
      const std::string after = waits.empty() ? "" : ", \"after\": [" + waits + "]";
      turns.push_back({{{"null", 512 * row.blocks}},
                       9,
                       after + ", \"agent\": \"r" + std::to_string(turns.size() % 3) +
                           "\", \"gap_s\": " + std::to_string(row.gap_s)});
    }
    text.job("p" + std::to_string(p), turns);
  }
  return text.str();
}

}  // namespace

TEST_CASE("a pool that never evicts finds of each prompt what the trace shares") {
  const support::TempDir folder;
  const std::string path = folder.write("t.jsonl", trace_test::RandomSessions(7).lines(12));
  for (const int block_size : {16, 64}) {
    INFO(block_size);
    check_ideal_hits(one_after_the_other(path).set("engine.block_size", block_size), path,
                     block_size);
  }
}

TEST_CASE("a model executed on the host finds the same") {
  const support::TempDir folder;
  const std::string path = folder.write("t.jsonl", trace_test::RandomSessions(8, 64, 28).lines(2));
  for (const int block_size : {16, 64}) {
    INFO(block_size);
    Cell cell = one_after_the_other(path).on("cpu").set("model", "tiny-llama-3");
    cell.set("engine.kv_tokens", 40'000).set("engine.max_model_len", 2048);
    cell.set("workload.time_scale", 1e-3).set("engine.block_size", block_size);
    check_ideal_hits(cell, path, block_size);
  }
}

TEST_CASE("turns start when all that they wait for has ended and their gap has passed") {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    INFO("seed " << seed);
    const auto graphs = random_graphs(seed, 20);
    const support::TempDir folder;
    Cell cell;
    cell.set("workload.kind", "trace").set("workload.path", folder.write("t.jsonl", lines(graphs)));
    cell.set("jps", 2.0).set("engine.kv_tokens", 4096).set("engine.max_model_len", 4096);
    cell.set("policy", seed % 2 == 0 ? "job_fcfs" : "continuum");
    if (seed > 2) cell.set("policy.max_active_programs", seed > 4 ? 1 : 3);
    const sweep::CellResult result = cell.run();

    const auto rows = support::turn_rows(result);
    const auto &arrive = reals(result.turns, "t_arrive_s"),
               &finish = reals(result.turns, "t_finish_s");
    for (std::size_t p = 0; p < graphs.size(); ++p) {
      for (std::size_t r = 0; r < graphs[p].size(); ++r) {
        INFO("program " << p << ", request " << r);
        const auto row = rows.find({static_cast<int>(p), static_cast<int>(r)});
        REQUIRE(row != rows.end());
        double latest = -1;
        std::vector<int> waits = graphs[p][r].waits;
        if (r >= 3) waits.push_back(static_cast<int>(r) - 3);  // the turn before of its agent
        for (const int wait : waits)
          latest = std::max(latest, finish[rows.at({static_cast<int>(p), wait})]);
        if (latest >= 0)
          CHECK(arrive[row->second] == Approx(latest + graphs[p][r].gap_s).margin(1e-8));
      }
    }
  }
}

TEST_CASE("a job with subagents ends with its root, and its rows name the agents") {
  const support::TempDir folder;
  Cell cell = one_after_the_other(folder.write("t.jsonl", trace_test::RandomSessions(7).lines(12)));
  const sweep::CellResult result = cell.run();
  const auto &job = ints(result.turns, "job"), &agent = ints(result.turns, "agent"),
             &parent = ints(result.turns, "parent");
  const auto &finish = reals(result.turns, "t_finish_s"),
             &arrive = reals(result.turns, "t_arrive_s");
  std::map<int, double> root_end, begin;
  int subagents = 0;
  for (std::size_t i = 0; i < job.size(); ++i) {
    CHECK(parent[i] == 0);
    subagents += agent[i] > 0 ? 1 : 0;
    if (agent[i] == 0) root_end[job[i]] = std::max(root_end[job[i]], finish[i]);
    const auto first = begin.emplace(job[i], arrive[i]).first;
    first->second = std::min(first->second, arrive[i]);
  }
  CHECK(subagents > 0);
  CHECK(result.jobs.rows() == 12);
  for (std::size_t i = 0; i < 12; ++i) {
    const int number = static_cast<int>(i);
    CHECK(reals(result.jobs, "t_finish_s")[i] == root_end[number]);
    CHECK(reals(result.jobs, "t_arrive_s")[i] == begin[number]);
    // One at a time: the next begins when this one has ended.
    if (i > 0) CHECK(begin[number] >= root_end[number - 1]);
  }
}

TEST_CASE("sessions replayed again share nothing with the first time") {
  const support::TempDir folder;
  Cell cell = one_after_the_other(folder.write("t.jsonl", trace_test::RandomSessions(9).lines(3)));
  cell.set("workload.jobs", 6);
  const auto hits = [](const sweep::CellResult& result) {
    std::map<Turn, int> hits;
    for (const auto& [turn, row] : support::turn_rows(result))
      hits[turn] = ints(result.turns, "cached_gpu_tok")[row];
    return hits;
  };
  auto fresh = hits(cell.run());
  for (int session = 0; session < 3; ++session) {
    CHECK(fresh[{session, 0}] == 0);
    CHECK(fresh[{session + 3, 0}] == 0);
    CHECK(fresh[{session, 1}] == fresh[{session + 3, 1}]);
  }
}
