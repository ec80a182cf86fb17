// A whole cell with an access log: its tables, and what its keys mean.
#include <map>
#include <set>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Cell;
using support::figure;
using support::ints;
using support::longs;
using support::reals;
using support::sum;

namespace {

/// Three requests at once on the host, 4 tokens each.
Cell logged() {
  Cell cell;
  cell.on("cpu").without("jps").set("model", "tiny-llama-3").set("engine.kv_tokens", 2048);
  cell.set("engine.max_model_len", 256).set("engine.max_num_batched_tokens", 512);
  cell.set("engine.max_num_seqs", 8).set("engine.prefix_caching", false);
  cell.set("workload.kind", "pair").set("workload.requests", "16+4 43+4 20+4");
  return cell.set("record.access_log", true);
}

std::string note(const sweep::CellResult& result, const std::string& name) {
  const sweep::Note* found = sweep::find_named(result.notes, name);
  return found == nullptr ? "" : found->text;
}

}  // namespace

TEST_CASE("an access log records the first layer, all heads and all steps unless told otherwise") {
  const sweep::CellResult usual = logged().run();
  Cell told = logged().set("record.access_layers", "0").set("record.access_heads", "all");
  const sweep::CellResult same = told.set("record.access_steps", "all").run();
  CHECK(usual.kv_access.rows() > 0);
  CHECK(longs(usual.kv_access, "step") == longs(same.kv_access, "step"));
  CHECK(ints(usual.kv_access, "n_slots") == ints(same.kv_access, "n_slots"));
}

TEST_CASE("a cell's access tables agree with each other and with its steps") {
  const sweep::CellResult result = logged().run();
  const sweep::Table &accesses = result.kv_access, &rows = result.access_rows;
  const int heads = 2;
  std::map<std::int64_t, std::int64_t> read, written;  // slots by step
  const auto& kinds = accesses.values<std::int8_t>("kind");
  for (std::size_t i = 0; i < accesses.rows(); ++i) {
    auto& slots = kinds[i] < 2 ? read : written;
    slots[longs(accesses, "step")[i]] += ints(accesses, "n_slots")[i];
  }
  std::map<std::int64_t, std::int64_t> contexts, added;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    contexts[longs(rows, "step")[i]] += 2 * heads * ints(rows, "context")[i];
    added[longs(rows, "step")[i]] += 2 * heads * ints(rows, "new_tok")[i];
    CHECK(longs(rows, "read_slots")[i] == ints(rows, "context")[i]);
  }
  CHECK(read == contexts);
  CHECK(written == added);
  CHECK(sum(ints(rows, "new_tok")) == sum(ints(result.steps, "n_tok")));
  CHECK(std::set<std::int64_t>(longs(rows, "step").begin(), longs(rows, "step").end()).size() ==
        result.steps.rows());
  CHECK(figure(result, "access_records") == static_cast<double>(accesses.rows()));
  CHECK(note(result, "access_log") == "holds every step asked for");
}

TEST_CASE("accesses lie on the cell's time axis: in their kernels, and these in their steps") {
  const sweep::CellResult result = logged().run();
  const sweep::Table &steps = result.steps, &runs = result.access_kernels;
  constexpr double kSlack = 1e-4;  // two clocks are read one after the other
  for (std::size_t i = 0; i < runs.rows(); ++i) {
    const auto step = static_cast<std::size_t>(longs(runs, "step")[i] - 1);
    CHECK(reals(runs, "t_start_s")[i] >= reals(steps, "t_s")[step] - kSlack);
    CHECK(reals(runs, "t_end_s")[i] <=
          reals(steps, "t_s")[step] + reals(steps, "dur_s")[step] + kSlack);
  }
}

TEST_CASE("a cell that does not log accesses has no row of them, and is the same cell") {
  Cell off = logged().set("record.access_log", false), without = logged();
  without.without("record.access_log");
  const sweep::CellResult result = off.run();
  CHECK(result.kv_access.rows() + result.access_rows.rows() + result.access_kernels.rows() == 0);
  CHECK(off.identity() == without.identity());
  CHECK(off.set("record.access_layers", "1").identity() == without.identity());
  CHECK(logged().identity() != without.identity());
}

TEST_CASE("a cell whose log is full says where it stopped, and keeps whole steps") {
  const sweep::CellResult all = logged().run();
  const int first = 4 * (16 + 43 + 20) + 4 * (1 + 3 + 2);  // writes, and reads of blocks
  const sweep::CellResult result = logged().set("record.access_max_records", first + 1).run();
  CHECK(result.kv_access.rows() == static_cast<std::size_t>(first));
  CHECK(figure(result, "access_stopped_step") == 2);
  CHECK(note(result, "access_log") == "stopped before step 2 by record.access_max_records");
  CHECK(std::isnan(figure(all, "access_stopped_step")));
}

TEST_CASE("keys of the access log are refused where they have no effect") {
  CHECK_THAT(logged().on("sim").refusal(), Contains("a cost model accesses nothing"));
  CHECK_THAT(logged().set("record.access_layers", "0-").refusal(),
             Contains("record.access_layers must be \"all\", or numbers and ranges"));
  CHECK_THAT(logged().set("record.access_layers", "0-2").refusal(),
             Contains("record.access_layers names number 2, the model has 2 layers (from 0)"));
  CHECK_THAT(logged().set("record.access_heads", "2").refusal(),
             Contains("the model has 2 key heads"));
  CHECK_THAT(logged().set("engine.block_size", 256).refusal(),
             Contains("needs an engine.block_size of at most 255"));
  CHECK_THAT(logged().set("record.access_max_records", 0).refusal(),
             Contains("record.access_max_records"));
}
