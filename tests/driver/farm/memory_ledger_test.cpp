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
  ledger.charge("n", 1, {10, 60});
  CHECK(ledger.fits("n", 9, {11, 40}));
  CHECK_FALSE(ledger.fits("n", 9, {11, 41}));
  ledger.charge("n", 2, {11, 40});
  CHECK(ledger.used_gib("n") == 100);
  ledger.release(1);
  CHECK(ledger.fits("n", 9, {12, 60}));
}

TEST_CASE("cells that start beside a reservation leave room for it") {
  MemoryLedger ledger = node_of(100);
  ledger.charge("n", 1, {10, 50});
  ledger.reserve("n", {20, 70});
  CHECK_FALSE(ledger.fits("n", 9, {11, 31}));  // with the 70 that are to come
  REQUIRE(ledger.fits("n", 9, {11, 20}));
  ledger.charge("n", 2, {11, 20});
  CHECK_FALSE(ledger.fits("n", 9, {12, 20}));
  CHECK(ledger.fits("n", 9, {12, 10}));
  CHECK_FALSE(ledger.fits("n", 9, {20, 70}));
  ledger.release(1);
  CHECK(ledger.fits("n", 9, {20, 70}));
  CHECK_FALSE(ledger.fits("n", 9, {12, 20}));
}

TEST_CASE("a reservation ends when its cell starts, and no longer limits other cells") {
  MemoryLedger ledger = node_of(100);
  ledger.reserve("n", {20, 70});
  CHECK(ledger.reserved_for("n") == 20);
  ledger.charge("n", 1, {20, 70});
  CHECK_FALSE(ledger.reserved_for("n"));
  CHECK(ledger.fits("n", 9, {12, 30}));
}

TEST_CASE("a node has one reservation and a cell reserves on one node") {
  MemoryLedger ledger = node_of(100);
  ledger.add_node("m", 100);
  ledger.reserve("n", {20, 70});
  ledger.reserve("n", {21, 10});
  ledger.reserve("m", {20, 70});
  CHECK(ledger.reserved_for("n") == 20);
  CHECK_FALSE(ledger.reserved_for("m"));
  ledger.charge("m", 1, {20, 70});  // it found room elsewhere
  CHECK_FALSE(ledger.reserved_for("n"));
}

TEST_CASE("cells that started before a reservation do not take up the room beside it") {
  MemoryLedger ledger = node_of(100);
  ledger.reserve("n", {20, 50});
  ledger.charge("n", 1, {10, 40});
  ledger.cancel_reservation_of(20);
  ledger.reserve("n", {21, 70});
  CHECK(ledger.fits("n", 9, {11, 30}));
}

TEST_CASE("a cell without host memory always fits") {
  MemoryLedger ledger = node_of(0);
  CHECK(ledger.fits("n", 9, {1, 0}));
  CHECK_FALSE(ledger.fits("n", 9, {1, 0.5}));
}

TEST_CASE(
    "memory that a worker keeps is there for its next cell, but not for those of other workers") {
  MemoryLedger ledger = node_of(100);
  ledger.charge("n", 1, {10, 60}, true);
  ledger.end(1);
  CHECK(ledger.used_gib("n") == 60);
  CHECK(ledger.fits("n", 1, {11, 100}));
  CHECK(ledger.fits("n", 2, {11, 40}));
  CHECK_FALSE(ledger.fits("n", 2, {11, 41}));
  ledger.charge("n", 1, {11, 20}, true);  // a smaller cell: the rest stays
  CHECK(ledger.used_gib("n") == 60);
  ledger.charge("n", 1, {12, 70});
  ledger.end(1);
  CHECK(ledger.used_gib("n") == 0);
}

TEST_CASE("a worker may keep memory if the largest cell still fits on any other worker") {
  MemoryLedger ledger = node_of(100);
  CHECK(ledger.may_keep("n", 1, 40, 60));
  CHECK_FALSE(ledger.may_keep("n", 1, 41, 60));
  ledger.charge("n", 1, {10, 30}, true);
  CHECK(ledger.may_keep("n", 2, 10, 60));
  CHECK_FALSE(ledger.may_keep("n", 2, 11, 60));
  ledger.charge("n", 2, {11, 50});  // freed when its cell is done, so it does not count
  CHECK(ledger.may_keep("n", 3, 10, 60));
}
