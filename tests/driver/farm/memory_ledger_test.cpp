#include "driver/farm/memory_ledger.hpp"

#include "tests/support/catch.hpp"

using driver::MemoryLedger;

namespace {
MemoryLedger node_of(double gib) {
  MemoryLedger ledger;
  ledger.add_node("n", gib);
  return ledger;
}
}  // namespace

TEST_CASE("a node's memory is charged up to its size and released") {
  MemoryLedger ledger = node_of(100);
  ledger.charge("n", 1, 60);
  CHECK(ledger.fits("n", 9, 40));
  CHECK_FALSE(ledger.fits("n", 9, 41));
  ledger.charge("n", 2, 40);
  CHECK(ledger.used_gib("n") == 100);
  ledger.release(1);
  CHECK(ledger.fits("n", 9, 60));
}

TEST_CASE("a cell without host memory always fits") {
  MemoryLedger ledger = node_of(0);
  CHECK(ledger.fits("n", 9, 0));
  CHECK_FALSE(ledger.fits("n", 9, 0.5));
}

TEST_CASE(
    "memory that a worker keeps is there for its next cell, but not for those of other workers") {
  MemoryLedger ledger = node_of(100);
  ledger.charge("n", 1, 60, true);
  ledger.end(1);
  CHECK(ledger.used_gib("n") == 60);
  CHECK(ledger.fits("n", 1, 100));
  CHECK(ledger.fits("n", 2, 40));
  CHECK_FALSE(ledger.fits("n", 2, 41));
  ledger.charge("n", 1, 20, true);  // a smaller cell: the rest stays
  CHECK(ledger.used_gib("n") == 60);
  ledger.charge("n", 1, 70);
  ledger.end(1);
  CHECK(ledger.used_gib("n") == 0);
}

TEST_CASE("a worker may keep memory if the largest cell still fits on any other worker") {
  MemoryLedger ledger = node_of(100);
  CHECK(ledger.may_keep("n", 1, 40, 60));
  CHECK_FALSE(ledger.may_keep("n", 1, 41, 60));
  ledger.charge("n", 1, 30, true);
  CHECK(ledger.may_keep("n", 2, 10, 60));
  CHECK_FALSE(ledger.may_keep("n", 2, 11, 60));
  ledger.charge("n", 2, 50);  // freed when its cell is done, so it does not count
  CHECK(ledger.may_keep("n", 3, 10, 60));
}
