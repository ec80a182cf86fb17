#include "analysis/claims/metrics.hpp"

#include <cmath>

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using sweep::AccessKernel;
using sweep::AccessPhase;
using sweep::KvAccessKind;

namespace {

/// A cell whose accesses were written by hand.
struct Accessed {
  Accessed() { archive.add({{"policy", text("fcfs")}}, 1); }

  void row(std::int64_t step, std::int32_t number, AccessPhase phase) {
    sweep::AccessRowRow& each = rows.emplace_back();
    each.step = step;
    each.batch_row = number;
    each.phase = phase;
  }
  void kernel(std::int64_t step, AccessKernel which, double from_s, double to_s) {
    kernels.push_back({step, 0, which, from_s, to_s});
  }
  sweep::KvAccessRow& touch(std::int64_t step, std::int32_t row, KvAccessKind kind,
                            std::int32_t block, double at_s) {
    sweep::KvAccessRow& each = touches.emplace_back();
    each.step = step;
    each.batch_row = row;
    each.kind = kind;
    each.block = block;
    each.n_slots = 16;
    each.t_s = at_s;
    return each;
  }
  double operator()(const std::string& name) const {
    auto cells = archive.cells();
    const std::vector<const analysis::ConfiguredCell*> pointers = {&cells.front()};
    cells.front().load = [&](std::string_view table) {
      if (table == "access_rows") return sweep::to_table<sweep::AccessRowRow>(rows);
      if (table == "access_kernels") return sweep::to_table<sweep::AccessKernelRow>(kernels);
      return sweep::to_table<sweep::KvAccessRow>(touches);
    };
    return analysis::access_metric(name, pointers).value();
  }

  ArchivedCells archive;
  std::vector<sweep::AccessRowRow> rows;
  std::vector<sweep::KvAccessRow> touches;
  std::vector<sweep::AccessKernelRow> kernels;
};

}  // namespace

TEST_CASE("reads for prompts are told from those of decodes", "[claims]") {
  Accessed cell;
  cell.row(1, 0, AccessPhase::prefill);
  cell.row(2, 0, AccessPhase::decode);
  cell.touch(1, 0, KvAccessKind::write_key, 1, 0);
  cell.touch(2, 0, KvAccessKind::read_key, 1, 1);
  CHECK(cell("prefill_reads") == 0);
  cell.touch(1, 0, KvAccessKind::read_value, 1, 0.5);
  CHECK(cell("prefill_reads") == 1);
}

TEST_CASE("values are behind keys block by block and head by head", "[claims]") {
  Accessed cell;
  cell.row(1, 0, AccessPhase::decode);
  for (const int block : {1, 2}) cell.touch(1, 0, KvAccessKind::read_key, block, block);
  cell.touch(1, 0, KvAccessKind::read_value, 1, 1.5);  // ahead of the next block's keys
  cell.touch(1, 0, KvAccessKind::read_value, 2, 2.5);
  CHECK(cell("behind_keys") == 1);
  cell.touch(1, 0, KvAccessKind::read_key, 3, 5).kv_head = 1;
  cell.touch(1, 0, KvAccessKind::read_value, 3, 4).kv_head = 1;
  CHECK(cell("behind_keys") == Approx(2.0 / 3));
}

TEST_CASE("the order of a warp's reads does not depend on those of other warps", "[claims]") {
  Accessed cell;
  cell.row(1, 0, AccessPhase::decode);
  for (const int block : {1, 1, 2, 5}) cell.touch(1, 0, KvAccessKind::read_key, block, block);
  cell.touch(1, 0, KvAccessKind::read_key, 1, 3).warp = 1;
  cell.touch(1, 0, KvAccessKind::read_value, 1, 4);
  CHECK(cell("ascending") == 1);
  cell.touch(1, 0, KvAccessKind::read_key, 4, 6);
  CHECK(cell("ascending") == Approx(0.75));
}

TEST_CASE("requests that are read at once begin together, of their kernel's time", "[claims]") {
  Accessed cell;
  for (const std::int64_t step : {1, 2, 3}) {
    for (const int row : {0, 1}) {
      cell.row(step, row, AccessPhase::decode);
      const double late_s = row * 0.1 * static_cast<double>(step);
      cell.touch(step, row, KvAccessKind::read_key, row, late_s);
      cell.touch(step, row, KvAccessKind::read_key, row, 1.9);
    }
    cell.kernel(step, AccessKernel::decode_attention, 0, 2);
    cell.kernel(step, AccessKernel::append, 0, 100);
  }
  CHECK(cell("read_spread") == Approx(0.1));  // 0.05, 0.1 and 0.15
}

TEST_CASE("blocks that a prefill writes one after the other are spread over its kernel",
          "[claims]") {
  Accessed cell;
  cell.row(1, 0, AccessPhase::prefill);
  cell.row(2, 0, AccessPhase::decode);
  for (const int block : {0, 1, 2, 3}) cell.touch(1, 0, KvAccessKind::write_key, block, block);
  cell.touch(2, 0, KvAccessKind::write_key, 3, 50);
  cell.kernel(1, AccessKernel::append, 0, 4);
  cell.kernel(2, AccessKernel::append, 50, 51);
  CHECK(cell("write_spread") == Approx(0.75));
}

TEST_CASE("a block is idle while it is not accessed", "[claims]") {
  Accessed cell;
  cell.row(1, 0, AccessPhase::decode);
  cell.touch(1, 0, KvAccessKind::read_key, 1, 0).dur_s = 1;
  cell.touch(1, 0, KvAccessKind::read_key, 1, 9).dur_s = 1;
  CHECK(cell("idle") == Approx(0.8));
}

TEST_CASE("a cell without an access log has no figures of accesses", "[claims]") {
  const Accessed cell;
  for (const std::string name :
       {"prefill_reads", "behind_keys", "ascending", "read_spread", "write_spread", "idle"})
    CHECK(std::isnan(cell(name)));
}
