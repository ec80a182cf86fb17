// The figures of cells that are small enough to be computed by hand.
#include "workers/record/figures.hpp"

#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"

using sweep::EvictionMode;
using sweep::ForwardKind;
using sweep::StepRow;

namespace {

constexpr std::int64_t kBlockBytes = 1000;

/// Consecutive steps, on a pool of 100 blocks.
class HandMade {
 public:
  StepRow& step(ForwardKind forward, double seconds, int prefill, int decodes) {
    StepRow row;
    row.step = static_cast<std::int64_t>(steps.size()) + 1;
    row.t_s = steps.empty() ? 0 : steps.back().t_s + steps.back().dur_s;
    row.dur_s = seconds;
    row.forward = forward;
    row.n_prefill_tok = prefill;
    row.n_decode = decodes;
    row.n_tok = prefill + decodes;
    row.stall_s = row.h2d_busy_s = row.d2h_busy_s = 0;
    row.blk_free = 100;
    steps.push_back(row);
    return steps.back();
  }
  StepRow& prefill(double seconds, int tokens) {
    return step(ForwardKind::prefill, seconds, tokens, 0);
  }
  StepRow& decode(double seconds, int batch) {
    return step(ForwardKind::decode, seconds, 0, batch);
  }
  StepRow& mixed(double seconds, int tokens, int batch) {
    return step(ForwardKind::mixed, seconds, tokens, batch);
  }
  double figure(const std::string& name) const {
    sweep::CellResult result;
    result.steps = sweep::to_table<StepRow>(steps);
    result.turns = sweep::to_table<sweep::TurnRow>(turns);
    result.evictions = sweep::to_table<sweep::EvictionRow>(evictions);
    result.kv_events = sweep::to_table<sweep::KvEventRow>(events);
    result.telemetry = sweep::to_table<sweep::TelemetryRow>(telemetry);
    result.figures = worker::figures_of(result, {16, kBlockBytes});
    return support::figure(result, name);
  }

  std::vector<StepRow> steps;
  std::vector<sweep::TurnRow> turns;
  std::vector<sweep::EvictionRow> evictions;
  std::vector<sweep::KvEventRow> events;
  std::vector<sweep::TelemetryRow> telemetry;
};

}  // namespace

TEST_CASE("prefill's share of a mixed step is its duration less that of as many decodes alone") {
  HandMade cell;
  cell.decode(0.010, 4);
  cell.decode(0.030, 4);
  cell.decode(0.012, 4);  // median 0.012
  cell.decode(0.020, 8);
  cell.mixed(0.112, 1000, 4);
  cell.mixed(0.050, 300, 7);  // like 8
  cell.mixed(0.015, 10, 5);   // like 4
  cell.prefill(0.200, 2000);
  const double prefill_s = 0.100 + 0.030 + 0.003 + 0.200;
  CHECK(cell.figure("prefill_tok_s") == Approx(3310 / prefill_s));
  const double decode_s = 0.010 + 0.030 + 0.012 + 0.020 + 0.012 + 0.020 + 0.012;
  CHECK(cell.figure("decode_tok_s") == Approx((4 * 3 + 8 + 4 + 7 + 5) / decode_s));
  CHECK(cell.figure("forwards") == 8);
}

TEST_CASE("resuming costs stalls for swaps and repeated prefill, counted once per step") {
  HandMade cell;
  cell.decode(0.010, 2);
  cell.decode(0.060, 2).stall_s = 0.050;  // two are swapped out
  cell.decode(0.020, 2).stall_s = 0.010;  // stalled by other copies
  cell.mixed(0.030, 100, 2).n_again_tok = 60;
  cell.decode(0.050, 2).stall_s = 0.040;  // one is swapped in
  const auto evict = [&](EvictionMode mode, double from, double to) {
    sweep::EvictionRow& row = cell.evictions.emplace_back();
    row.mode = mode;
    row.t_evict_s = from;
    row.t_resume_s = to;
  };
  evict(EvictionMode::swap, cell.steps[1].t_s, cell.steps[4].t_s);
  evict(EvictionMode::partial, cell.steps[1].t_s, sweep::kNotObserved);
  evict(EvictionMode::recompute, cell.steps[2].t_s, cell.steps[3].t_s);
  CHECK(cell.figure("resume_overhead_s") == Approx(0.050 + 0.020 + 0.040));
  CHECK(cell.figure("stall_s") == Approx(0.100));
}

TEST_CASE("preemption by block counts the stall of every step that swaps out a block") {
  HandMade cell;
  for (int i = 0; i < 5; ++i) cell.decode(0.050, 2).stall_s = 0.010;
  sweep::EvictionRow& row = cell.evictions.emplace_back();
  row.mode = EvictionMode::partial;
  row.t_evict_s = cell.steps[0].t_s;
  row.t_resume_s = cell.steps[4].t_s;
  const auto goes_out = [&](std::int64_t step, sweep::KvReason reason) {
    sweep::KvEventRow& event = cell.events.emplace_back();
    event.step = step;
    event.kind = sweep::KvEventKind::swap_out;
    event.reason = reason;
  };
  goes_out(2, sweep::KvReason::partial);
  goes_out(2, sweep::KvReason::partial);
  goes_out(3, sweep::KvReason::waste);  // of a finished turn
  goes_out(4, sweep::KvReason::partial);
  CHECK(cell.figure("resume_overhead_s") == Approx(4 * 0.010));
}

TEST_CASE(
    "a tier's benefit is the prefill time that its hits save, at this cell's rate, less its "
    "stalls") {
  HandMade cell;
  cell.prefill(2.0, 1000).host_blk_total = 50;
  cell.decode(1.5, 1).stall_s = 0.5;
  cell.steps.back().host_blk_total = 50;
  sweep::TurnRow& turn = cell.turns.emplace_back();
  turn.cached_host_tok = 600;
  sweep::EvictionRow& swapped = cell.evictions.emplace_back();
  swapped.tokens = 100;
  swapped.bytes = 5 * kBlockBytes;  // 80 tokens
  swapped.mode = EvictionMode::partial;
  swapped.t_evict_s = 0;
  swapped.t_resume_s = 2.0;
  CHECK(cell.figure("tier_benefit_s") == Approx(680 * 0.002 - 0.5));
  cell.steps.back().host_blk_total = 0;
  CHECK(std::isnan(cell.figure("tier_benefit_s")));
}

TEST_CASE("pinned blocks count until the next step begins, even if the engine is idle") {
  HandMade cell;
  cell.decode(1, 1).blk_pinned = 10;
  cell.decode(1, 1).blk_pinned = 5;
  cell.steps[1].t_s = 4;
  CHECK(cell.figure("gap_held_tok_s") == 16 * (10 * 4 + 5 * 1));
}

TEST_CASE("the running peak is the most requests that ran at once") {
  HandMade cell;
  cell.prefill(0.1, 100).n_running = 2;
  cell.decode(0.1, 2).n_running = 7;
  cell.decode(0.1, 2).n_running = 3;
  CHECK(cell.figure("running_peak") == 7);
  CHECK(HandMade().figure("running_peak") == 0);
}

TEST_CASE("host content that is evicted unread was stored for nothing") {
  HandMade cell;
  const auto evict = [&](sweep::KvEventKind kind, sweep::KvReason reason, int bytes) {
    sweep::KvEventRow& row = cell.events.emplace_back();
    row.kind = kind;
    row.reason = reason;
    row.bytes = bytes;
  };
  evict(sweep::KvEventKind::evict_host, sweep::KvReason::unread, 700);
  evict(sweep::KvEventKind::evict_host, sweep::KvReason::read, 20);
  evict(sweep::KvEventKind::drop, sweep::KvReason::unread, 5);
  CHECK(cell.figure("unread_bytes") == 700);
}

TEST_CASE(
    "bytes on the disk are those of its reads and writes, and its hits are hits of the host") {
  HandMade cell;
  const auto move = [&](sweep::KvEventKind kind, int bytes) {
    sweep::KvEventRow& row = cell.events.emplace_back();
    row.kind = kind;
    row.bytes = bytes;
  };
  move(sweep::KvEventKind::disk_store, 300);
  move(sweep::KvEventKind::disk_store, 20);
  move(sweep::KvEventKind::disk_load, 5);
  move(sweep::KvEventKind::evict_disk, 7000);
  CHECK((cell.figure("disk_write_bytes") == 320 && cell.figure("disk_read_bytes") == 5));
}

TEST_CASE("a cell without a GPU has no peak of device memory, and one without steps no rates") {
  HandMade cell;
  CHECK(std::isnan(cell.figure("peak_device_mem")));
  CHECK(std::isnan(cell.figure("prefill_tok_s")));
  CHECK(std::isnan(cell.figure("tier_benefit_s")));
  CHECK(cell.figure("gpu_blocks") == 0);
  cell.telemetry.emplace_back().mem_used_bytes = 7;
  cell.telemetry.emplace_back().mem_used_bytes = 9;
  cell.decode(1, 1);
  CHECK(cell.figure("peak_device_mem") == 9);
  CHECK(cell.figure("gpu_blocks") == 100);
}
