// What /evictions and the newer columns of /steps say of cells that preempt.
#include <map>

#include "tests/experiment/cell.hpp"
#include "tests/experiment/tables.hpp"
#include "tests/support/catch.hpp"

using support::Cell;
using support::crowded;
using support::figure;
using support::ints;
using support::kNanosecond;
using support::longs;
using support::reals;

namespace {

sweep::EvictionMode mode(const sweep::CellResult& result, std::size_t row) {
  return static_cast<sweep::EvictionMode>(result.evictions.values<std::int8_t>("mode")[row]);
}

}  // namespace

TEST_CASE("every preemption is one row of /evictions, of a turn that comes back and recomputes") {
  const sweep::CellResult result = crowded("fcfs").run();
  const sweep::Table& rows = result.evictions;
  REQUIRE(rows.rows() > 10);
  CHECK(static_cast<double>(rows.rows()) == support::sum(ints(result.turns, "preemptions")));
  CHECK(figure(result, "evictions") == static_cast<double>(rows.rows()));
  const auto &evicted = reals(rows, "t_evict_s"), &resumed = reals(rows, "t_resume_s"),
             &again = reals(rows, "recompute_s");
  const auto turns = support::turn_rows(result);
  std::map<std::pair<int, int>, double> recompute;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    CHECK(resumed[row] > evicted[row]);
    CHECK(mode(result, row) == sweep::EvictionMode::recompute);
    CHECK(longs(rows, "bytes")[row] == 0);
    CHECK((reals(rows, "out_s")[row] == 0 && reals(rows, "in_s")[row] == 0));
    CHECK(ints(rows, "blocks")[row] >= (ints(rows, "tokens")[row] + 15) / 16);
    recompute[{ints(rows, "job")[row], ints(rows, "turn")[row]}] += again[row];
  }
  for (const auto& [turn, seconds] : recompute)
    CHECK(seconds <= reals(result.turns, "recompute_s")[turns.at(turn)] + kNanosecond);
}

TEST_CASE("a step says what its forward pass was, by the tokens of it") {
  const sweep::CellResult result = crowded("fcfs").run();
  const sweep::Table& steps = result.steps;
  const auto& forward = steps.values<std::int8_t>("forward");
  std::map<sweep::ForwardKind, int> seen;
  for (std::size_t row = 0; row < steps.rows(); ++row) {
    const bool prefills = ints(steps, "n_prefill_tok")[row] > 0;
    const bool decodes = ints(steps, "n_decode")[row] > 0;
    const auto kind = static_cast<sweep::ForwardKind>(forward[row]);
    ++seen[kind];
    CHECK((kind == sweep::ForwardKind::prefill || kind == sweep::ForwardKind::mixed) == prefills);
    CHECK((kind == sweep::ForwardKind::decode || kind == sweep::ForwardKind::mixed) == decodes);
    CHECK(ints(steps, "n_tok")[row] <= ints(steps, "window")[row]);
  }
  CHECK(seen[sweep::ForwardKind::prefill] > 0);
  CHECK(seen[sweep::ForwardKind::decode] > 0);
  CHECK(seen[sweep::ForwardKind::mixed] > 0);
}

TEST_CASE("recomputed tokens of preempted requests are recorded by step and count as overhead") {
  const sweep::CellResult result = crowded("fcfs").run();
  const auto& again = ints(result.steps, "n_again_tok");
  CHECK(support::sum(again) > 0);
  CHECK(support::sum(again) <= figure(result, "recomputed_tok"));
  double longest = 0;
  for (std::size_t row = 0; row < again.size(); ++row)
    longest += again[row] > 0 ? reals(result.steps, "dur_s")[row] : 0;
  CHECK(figure(result, "resume_overhead_s") > 0);
  CHECK(figure(result, "resume_overhead_s") <= longest + kNanosecond);
  Cell roomy = crowded("fcfs");
  CHECK(figure(roomy.set("engine.kv_tokens", 400'000).run(), "resume_overhead_s") == 0);
}

TEST_CASE("the row of a swapped request has its copies: bytes, and link time out and back") {
  const sweep::CellResult result = crowded("swap").set("dram_gib", 64).run();
  const sweep::Table& rows = result.evictions;
  REQUIRE(rows.rows() > 0);
  double out = 0, in = 0, bytes = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    CHECK(mode(result, row) == sweep::EvictionMode::swap);
    CHECK(longs(rows, "bytes")[row] == (ints(rows, "tokens")[row] + 15) / 16 * (2 << 20));
    CHECK(reals(rows, "out_s")[row] > 0);
    out += reals(rows, "out_s")[row];
    in += reals(rows, "in_s")[row];
    bytes += static_cast<double>(longs(rows, "bytes")[row]);
  }
  CHECK(bytes == figure(result, "d2h_bytes"));
  CHECK(out == Approx(support::sum(reals(result.steps, "d2h_busy_s"))));
  CHECK(in > 0);  // a request with all of its KV still on the GPU needs no copy back
  CHECK(in == Approx(support::sum(reals(result.steps, "h2d_busy_s"))));
  CHECK(figure(result, "resume_overhead_s") >= support::sum(reals(result.steps, "stall_s")));
}

TEST_CASE("steps tell how full the host tier is, and what its copies held up") {
  const sweep::CellResult result = crowded("lmcache").set("dram_gib", 4).run();
  const auto& total = ints(result.steps, "host_blk_total");
  const auto& used = ints(result.steps, "host_blk_used");
  for (std::size_t row = 0; row < total.size(); ++row) {
    CHECK(total[row] == 2048);
    CHECK(used[row] <= total[row]);
  }
  CHECK(used.back() > 0);
  CHECK(figure(result, "stall_s") == support::sum(reals(result.steps, "stall_s")));
  CHECK(figure(result, "stall_s") > 0);
}
