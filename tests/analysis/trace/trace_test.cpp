#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/trace/trace.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

using namespace analysis;
using nlohmann::json;
using sweep::SchedKind;

namespace {

using Write = void (*)(const sweep::CellResult&, std::ostream&);

std::vector<json> lines_of(const HandMadeCell& cell, Write write) {
  std::stringstream text;
  write(cell.result(), text);
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::vector<json> lines_of(const HandMadeCell& cell, Write write, const std::string& event) {
  std::vector<json> lines = lines_of(cell, write);
  std::erase_if(lines, [&](const json& line) { return line.at("event") != event; });
  return lines;
}

HandMadeCell evicted_between_turns() {
  HandMadeCell cell = three_jobs();
  cell.notes = {{"block_size", "16"}};
  cell.event(4, 0, sweep::KvEventKind::evict_gpu).blocks = 3;
  return cell;
}

}  // namespace

TEST_CASE(
    "every step has its snapshot, the lookups of new requests and its decision, in this order") {
  std::vector<std::string> events;
  for (const json& line : lines_of(three_jobs(), write_steps)) {
    if (line.at("step") == 2) events.push_back(line.at("event"));
  }
  CHECK(events ==
        std::vector<std::string>{"step_snapshot", "prefix_cache_lookup", "step_decision"});
}

TEST_CASE("a snapshot lists the running and waiting requests and the pinned jobs") {
  const auto snapshots = lines_of(three_jobs(), write_steps, "step_snapshot");
  REQUIRE(snapshots.size() == 5);
  const json& third = snapshots[2];
  CHECK(third.at("ts") == 2.0);
  CHECK(third.at("running_req_ids") == json{"astropy__astropy-12907:0"});
  CHECK(third.at("running_job_ids") == json{"astropy__astropy-12907"});
  CHECK(third.at("waiting_req_ids") == json{"b:0", "c:0"});
  CHECK(third.at("waiting_job_ids") == json{"b", "c"});
  CHECK(third.at("num_waiting") == 2);
  CHECK(third.at("pinned_job_ids") == json::array());
  CHECK(snapshots[3].at("pinned_job_ids") == json{"astropy__astropy-12907"});
}

TEST_CASE("free blocks are the cached and the empty ones, and all states add up") {
  HandMadeCell cell = three_jobs();
  cell.steps[0].blk_used = 7;
  cell.steps[0].blk_pinned = 5;
  cell.steps[0].blk_cached = 3;
  cell.steps[0].blk_free = 1;
  const json first = lines_of(cell, write_steps, "step_snapshot").at(0);
  CHECK(first.at("free_blocks") == 4);
  CHECK(first.at("pinned_blocks") == 5);
  CHECK(first.at("total_blocks") == 16);
  CHECK(first.at("blocks_by_state") ==
        json{{"alloc", 7}, {"pinned", 5}, {"cached", 3}, {"empty", 1}});
}

TEST_CASE("a decision tells new, resumed, running and preempted requests apart") {
  const auto decisions = lines_of(three_jobs(), write_steps, "step_decision");
  REQUIRE(decisions.size() == 5);
  CHECK(decisions[2].at("preempted_req_ids") == json{"b:0"});
  CHECK(decisions[2].at("stop_reason") == "preempted");
  CHECK(decisions[2].at("num_scheduled_tokens") == json{{"astropy__astropy-12907:0", 1}});
  CHECK(decisions[3].at("scheduled_resumed_req_ids") == json{"b:0"});
  CHECK(decisions[3].at("scheduled_new_req_ids") == json{"c:0"});
  CHECK(decisions[4].at("scheduled_running_req_ids") == json{"b:0", "c:0"});
  CHECK(decisions[4].at("num_scheduled_tokens") ==
        json{{"b:0", 1}, {"c:0", 1}, {"astropy__astropy-12907:1", 136}});
}

TEST_CASE("times that were not observed are null, the others are milliseconds") {
  HandMadeCell cell = three_jobs();
  cell.steps[0].dur_s = 0.0237;
  const json durations = lines_of(cell, write_steps, "step_decision").at(0).at("step_ms");
  CHECK(durations.at("total") == 23.7);
  CHECK(durations.at("forward").is_null());
}

TEST_CASE("a lookup has the tokens found and the tokens that the previous turn left") {
  const auto lookups = lines_of(evicted_between_turns(), write_steps, "prefix_cache_lookup");
  REQUIRE(lookups.size() == 4);
  const json& second_turn = lookups[3];
  CHECK(second_turn.at("req_id") == "astropy__astropy-12907:1");
  CHECK(second_turn.at("step") == 5);
  CHECK(second_turn.at("local_hit_tokens") == 64);
  CHECK(second_turn.at("total_hit_tokens") == 64);
  CHECK(second_turn.at("total_prompt_tokens") == 200);
  CHECK(second_turn.at("theoretical_hit") == 112);  // 100 + 13 - 1 tokens are seven whole blocks
  CHECK(lookups[0].at("theoretical_hit") == 0);
  CHECK(lookups[0].at("miss_cause") == "none");
}

TEST_CASE(
    "a miss is attributed to the tier that evicted the job's blocks since its previous turn") {
  const auto cause = [](const HandMadeCell& cell) {
    return lines_of(cell, write_steps, "prefix_cache_lookup").at(3).at("miss_cause");
  };
  HandMadeCell cell = evicted_between_turns();
  CHECK(cause(cell) == "evicted_gpu");
  cell.event(4, 0, sweep::KvEventKind::evict_host);
  CHECK(cause(cell) == "evicted_dram");
  cell = evicted_between_turns();
  cell.kv_events.back().job = 1;
  CHECK(cause(cell).is_null());
  cell = evicted_between_turns();
  cell.turns[3].cached_gpu_tok = 112;
  CHECK(cause(cell) == "none");
  cell.notes.clear();
  CHECK(cause(cell).is_null());
}

TEST_CASE("policy and cell come from the notes, and are left out when the notes lack them") {
  HandMadeCell cell = three_jobs();
  CHECK_FALSE(lines_of(cell, write_steps).at(0).contains("policy"));
  cell.notes = {{"policy", "continuum"}, {"cell", "policy=continuum jps=1"}};
  const json first = lines_of(cell, write_steps).at(0);
  CHECK(first.at("policy") == "continuum");
  CHECK(first.at("cell") == "policy=continuum jps=1");
  CHECK(lines_of(cell, write_requests).at(0).at("policy") == "continuum");
}

TEST_CASE("an event names its request, its reason and the request that caused it") {
  HandMadeCell cell = three_jobs();
  cell.kv_events[0].by_job = 2;
  cell.kv_events[0].by_turn = 0;
  cell.kv_events[0].bytes = 3'000'000'000;
  cell.kv_events[1].job = cell.kv_events[1].turn = -1;
  const auto events = lines_of(cell, write_events);
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("kind") == "pin");
  CHECK(events[0].at("req_id") == "astropy__astropy-12907:0");
  CHECK(events[0].at("by_req_id") == "c:0");
  CHECK(events[0].at("bytes") == 3'000'000'000);
  CHECK(events[0].at("deadline") == 5.0);
  CHECK(events[1].at("reason") == "handoff");
  CHECK(events[1].at("req_id").is_null());
  CHECK(events[1].at("job_id").is_null());
  CHECK(events[1].at("deadline").is_null());
}

TEST_CASE("a request record holds the token counts of the turn") {
  HandMadeCell cell = three_jobs();
  cell.turns[3].cached_host_tok = 32;
  cell.turns[3].output_tok = 20;
  cell.turns[3].preemptions = 2;
  const auto requests = lines_of(cell, write_requests, "request");
  REQUIRE(requests.size() == 4);
  const json& last = requests[3];
  CHECK(last.at("req_id") == "astropy__astropy-12907:1");
  CHECK(last.at("status") == "finished");
  CHECK(last.at("arrival_time") == 3.5);
  CHECK(last.at("num_tokens") == 220);
  CHECK(last.at("num_computed_tokens") == 219);
  CHECK(last.at("num_cached_tokens") == 96);
  CHECK(last.at("num_external_computed_tokens") == 32);
  CHECK(last.at("num_preemptions") == 2);
  CHECK(last.at("is_last_step") == true);
  CHECK(requests[0].at("is_last_step") == false);
}

TEST_CASE("a request record of a subagent names it and its parent") {
  HandMadeCell cell = three_jobs();
  cell.turns[3].agent = 2;
  cell.turns[3].parent = 1;
  const auto requests = lines_of(cell, write_requests, "request");
  CHECK(requests[3].at("agent") == 2);
  CHECK(requests[3].at("parent") == 1);
  CHECK_FALSE(requests[0].contains("agent"));
}

TEST_CASE("a job record lists the turns of the job in their order") {
  HandMadeCell cell = three_jobs();
  std::swap(cell.turns[0], cell.turns[3]);
  cell.jobs[0].jct_wall_s = 5;
  const auto jobs = lines_of(cell, write_requests, "job");
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].at("job_id") == "astropy__astropy-12907");
  CHECK(jobs[0].at("jct_wall_s") == 5.0);
  REQUIRE(jobs[0].at("turns").size() == 2);
  CHECK(jobs[0].at("turns")[0].at("prompt") == 100);
  CHECK(jobs[0].at("turns")[1].at("prompt") == 200);
  CHECK(jobs[0].at("turns")[1].at("hit_local") == 64);
}

TEST_CASE("no step is left out, however many there are") {
  constexpr int kSteps = 5000;
  HandMadeCell cell;
  cell.job("long");
  cell.turn(0, 0, 0, kSteps);
  for (int step = 0; step < kSteps; ++step) {
    cell.step(step, 1, 0);
    cell.schedule(0, 0, step == 0 ? SchedKind::fresh : SchedKind::running);
  }
  CHECK(lines_of(cell, write_steps, "step_snapshot").size() == kSteps);
  CHECK(lines_of(cell, write_steps, "step_decision").size() == kSteps);
}

TEST_CASE("job ids with any content survive a round trip through JSON") {
  const std::string hostile = "a\"b\\c\n\x1b[31m\x01,{}";
  HandMadeCell cell = three_jobs();
  cell.jobs[0].id = hostile;
  CHECK(lines_of(cell, write_steps).at(0).at("running_req_ids") == json{hostile + ":0"});
  CHECK(lines_of(cell, write_events).at(0).at("job_id") == hostile);
  CHECK(lines_of(cell, write_requests, "job").at(0).at("job_id") == hostile);
  cell.jobs[0].id = "bytes \xff\xc3 that are not UTF-8";
  CHECK(lines_of(cell, write_steps).at(0).at("running_job_ids") ==
        json{"bytes \xEF\xBF\xBD\xEF\xBF\xBD that are not UTF-8"});
}
