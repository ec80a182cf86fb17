#include "workers/engine/engine.hpp"

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::InputError;
using engine::KvEvent;
using engine::KvEventKind;
using engine::Nanos;

namespace {

EngineWorldConfig tight(int num_blocks, int block_size) {
  EngineWorldConfig config;
  config.engine.kv = {num_blocks, block_size, true};
  config.engine.scheduler.max_model_len = (num_blocks - 1) * block_size;
  return config;
}

std::string refusal(const EngineWorldConfig& config) {
  try {
    EngineWorld world(config);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

engine::RequestSpec turn_of(std::uint32_t job, int turn = 0) {
  engine::RequestSpec spec;
  spec.job = engine::JobId{job};
  spec.turn = turn;
  return spec;
}

Nanos total(const engine::TimeSplit& time) {
  return time.queue + time.load_stall + time.recompute + time.prefill + time.decode;
}

}  // namespace

TEST_CASE("a pool that cannot hold the longest sequence is refused", "[engine]") {
  EngineWorldConfig config;
  config.engine.kv.num_blocks = 256;
  CHECK(contains(refusal(config), "4080 tokens in the pool and a length of 4096"));
  config.engine.kv.num_blocks = 257;
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("a prompt that leaves no room for an output token is refused", "[engine]") {
  EngineWorld world;
  CHECK_THROWS_AS(world.submit(tokens(4096), 1), InputError);
  CHECK_THROWS_AS(world.submit({}, 1), InputError);
  const Tokens longest = tokens(4095);
  const auto id = world.submit(longest, 10);
  CHECK(world.run_until_finished(id).num_outputs() == 1);
}

TEST_CASE("requests are numbered in the order of submission", "[engine]") {
  EngineWorld world;
  const Tokens prompt = tokens(10);
  CHECK(world.submit(prompt, 1) == engine::RequestId{0});
  CHECK_THROWS_AS(world.submit({}, 1), InputError);
  CHECK(world.submit(prompt, 1) == engine::RequestId{1});
}

TEST_CASE("sampled tokens continue a request where no answer is forced", "[engine]") {
  EngineWorld world;
  const Tokens prompt = tokens(10), forced{7, 8};
  auto spec = turn_of(0);
  spec.forced = forced;
  const auto id = world.submit(prompt, 4, spec);
  CHECK(world.run_until_finished(id).outputs == Tokens{7, 8, 1002, 1003});
}

TEST_CASE("each sample goes to its own request when others only prefill", "[engine]") {
  auto config = tight(1025, 16);
  config.engine.scheduler.long_prefill_token_threshold = 20;
  EngineWorld world(config);
  const Tokens long_prompt = tokens(50), short_prompt = tokens(10, 1);
  world.submit(long_prompt, 1);
  const auto id = world.submit(short_prompt, 3);
  CHECK(world.run_until_finished(id).outputs == Tokens{1000, 1001, 1003});
}

TEST_CASE("a step lasts as long as the backend says", "[engine]") {
  EngineWorld world;
  world.backend.duration_of = [](const auto& plan) { return plan.total_tokens * 1ms; };
  const Tokens prompt = tokens(30);
  world.submit(prompt, 2);
  const auto& trace = world.engine.step();
  CHECK((trace.start == 0ms && trace.end == 30ms));
  world.engine.step();
  CHECK((trace.start == 30ms && trace.end == 31ms));
  CHECK(world.clock.now() == 31ms);
  CHECK(world.sink.steps == 2);
}

TEST_CASE("a trace shows queues and blocks as they are after scheduling", "[engine]") {
  auto config = tight(11, 16);
  config.engine.scheduler.max_num_seqs = 1;
  EngineWorld world(config);
  const Tokens prompt = tokens(40);
  world.submit(prompt, 1);
  world.submit(prompt, 1);
  const auto& trace = world.engine.step();
  CHECK((trace.num_running == 1 && trace.num_waiting == 1));
  CHECK(trace.blocks.allocated == 3);
  CHECK(trace.blocks.allocated + trace.blocks.empty == 10);
  REQUIRE(trace.finished.size() == 1);
  CHECK(world.engine.kv().census().cached == 2);
}

TEST_CASE("evictions are reported once for each evicted job and allocating turn", "[engine]") {
  EngineWorld world(tight(7, 4));
  const Tokens first = tokens(8), second = tokens(8, 1), large = tokens(24 - 1, 2);
  world.submit(first, 1, turn_of(0, 3));
  world.submit(second, 1, turn_of(1));
  world.engine.step();
  world.submit(large, 1, turn_of(2, 5));
  const auto& trace = world.engine.step();
  CHECK(trace.evictions.size() == 4);
  REQUIRE(trace.kv_events.size() == 2);
  const KvEvent& lost = trace.kv_events[0];
  CHECK((lost.kind == KvEventKind::evict_gpu && lost.blocks == 2));
  CHECK((lost.job == engine::JobId{0} && lost.turn == 3));
  CHECK((lost.by_job == engine::JobId{2} && lost.by_turn == 5));
  CHECK(trace.kv_events[1].job == engine::JobId{1});
}

TEST_CASE("a preemption is reported with the blocks that it released", "[engine]") {
  EngineWorld world(tight(5, 4));
  const Tokens first = tokens(8), second = tokens(8, 1);
  world.submit(first, 2, turn_of(0));
  world.submit(second, 2, turn_of(1));
  world.engine.step();
  const auto& trace = world.engine.step();
  REQUIRE_FALSE(trace.kv_events.empty());
  CHECK(trace.kv_events[0].kind == KvEventKind::preempt);
  CHECK((trace.kv_events[0].job == engine::JobId{1} && trace.kv_events[0].blocks == 2));
  CHECK(trace.kv_events[0].at == trace.start);
}

TEST_CASE("a pin is reported at the end of the step that made it", "[engine]") {
  EngineWorldConfig config;
  config.policy = {.order = "job_fcfs", .retention = "pin"};
  EngineWorld world(config);
  const Tokens prompt = tokens(40);
  auto spec = turn_of(0);
  spec.tool = engine::ToolId{0};
  world.submit(prompt, 1, spec);
  const auto& trace = world.engine.step();
  REQUIRE(trace.kv_events.size() == 1);
  const KvEvent& pin = trace.kv_events[0];
  CHECK((pin.kind == KvEventKind::pin && pin.blocks == 3 && pin.at == trace.end));
  CHECK(pin.deadline == trace.end + 2s);
  CHECK(trace.num_pins == 0);
  world.engine.step();
  CHECK((trace.num_pins == 1 && trace.blocks.pinned == 3));
  CHECK(trace.kv_events.empty());
}

TEST_CASE("an idle engine may be stepped as often as one likes", "[engine]") {
  EngineWorld world;
  for (int i = 0; i < 3; ++i) CHECK(world.engine.step().plan->scheduled.empty());
  CHECK(world.engine.idle());
}

TEST_CASE("an idle engine shows what is pinned, and wakes when the pin's time is over",
          "[engine][pins]") {
  auto config = tight(1025, 16);
  config.policy = {.retention = "pin", .parameters = {{"threshold_s", 3600.0}}};
  EngineWorld world(config);
  CHECK(world.engine.wakeup() == Nanos::max());
  auto spec = turn_of(0);
  spec.tool = engine::ToolId{0};
  const Tokens prompt = tokens(40);
  world.submit(prompt, 1, spec);
  CHECK(world.engine.step().blocks.pinned == 0);  // the turn ended with it
  CHECK(world.engine.wakeup() == 10ms);
  CHECK(world.engine.wake().blocks.pinned == 3);
  CHECK(world.engine.wakeup() == 2010ms);
  world.clock.wait_until(world.engine.wakeup());
  const auto& trace = world.engine.wake();
  CHECK((trace.start == 2010ms && trace.num_pins == 0 && trace.blocks.cached == 2));
  REQUIRE(trace.kv_events.size() == 1);
  CHECK((trace.kv_events[0].reason == engine::KvReason::ttl && trace.kv_events[0].at == 2010ms));
  CHECK(world.engine.wakeup() == Nanos::max());
}

TEST_CASE("a request that takes over the memory of an ended one starts afresh", "[engine]") {
  EngineWorld world;
  const Tokens first = tokens(100), second = tokens(50, 1);
  world.run_until_finished(world.submit(first, 9));
  const auto request = world.run_until_finished(world.submit(second, 3));
  CHECK(request.num_outputs() == 3);
  CHECK(request.prefix_hit_tokens == 0);
  CHECK(request.num_preemptions == 0);
  CHECK(request.time.prefill == world.backend.step_duration);
}

TEST_CASE("hashes from the client serve like those of the engine", "[engine]") {
  EngineWorld world;
  const Tokens prompt = tokens(100), forced = tokens(20, 1), all = prompt + forced;
  const auto hashes = engine::hash_blocks(all, 16);
  auto spec = turn_of(0);
  spec.forced = forced;
  spec.known_hashes = hashes;
  world.run_until_finished(world.submit(prompt, 20, spec));
  CHECK(world.run_until_finished(world.submit(all, 1)).prefix_hit_tokens == 112);
}

TEST_CASE("evicted KV of an earlier turn counts as recomputed", "[engine]") {
  EngineWorld world;
  const Tokens prompt = tokens(100);
  auto spec = turn_of(0, 1);
  spec.computed_by_earlier_turns = 60;
  const auto request = world.run_until_finished(world.submit(prompt, 1, spec));
  CHECK(request.recomputed_tokens == 60);
  CHECK(request.time.recompute == world.backend.step_duration * 60 / 100);
  CHECK(total(request.time) == world.backend.step_duration);
}

TEST_CASE("time before admission is queue time", "[engine]") {
  auto config = EngineWorldConfig{};
  config.engine.scheduler.max_num_seqs = 1;
  EngineWorld world(config);
  const Tokens prompt = tokens(10), other = tokens(10, 1);
  world.submit(prompt, 3);
  const auto request = world.run_until_finished(world.submit(other, 2));
  const Nanos step = world.backend.step_duration;
  CHECK((request.time.queue == 3 * step && request.time.prefill == step));
  CHECK((request.admitted == 3 * step && request.first_token == 4 * step));
}

TEST_CASE("requests that preempt each other for ever end with an error") {
  support::EngineWorldConfig config;
  config.engine.kv = {.num_blocks = 12, .block_size = 4, .prefix_caching = false};
  config.engine.scheduler = {.max_num_batched_tokens = 8,
                             .max_num_seqs = 2,
                             .max_model_len = 44,
                             .long_prefill_token_threshold = 4,
                             .reserve_full_sequence = false};
  config.policy.order = "priority";
  config.engine.async_scheduling = GENERATE(false, true);
  support::EngineWorld world(config);
  const support::Tokens a = support::tokens(36, 1), b = support::tokens(36, 2);
  world.submit(a, 2);
  const engine::RequestId id = world.submit(b, 2);
  CHECK_THROWS_WITH(world.run_until_finished(id),
                    Catch::Matchers::Contains("preempt each other for ever"));
}
