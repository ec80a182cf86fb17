#include "analysis/digest/first_difference.hpp"

#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

using analysis::first_kv_apart;
using analysis::first_scheduled_apart;
using analysis::FirstDifference;
using Texts = std::vector<std::string>;

TEST_CASE("cells that did the same never differ") {
  const sweep::CellResult cell = three_jobs().result();
  CHECK(first_scheduled_apart(cell, cell).step == 0);
  CHECK(first_kv_apart(cell, cell).step == 0);
}

TEST_CASE("the first step with other requests is named, with what each cell alone did there") {
  HandMadeCell other = three_jobs();
  for (sweep::SchedRow& row : other.sched)
    if (row.step == 4 && row.job == 2) row.tokens = 5;
  const sweep::CellResult a = three_jobs().result(), b = other.result();
  const FirstDifference first = first_scheduled_apart(a, b);
  CHECK(first.step == 4);
  CHECK(first.a.actions == Texts{"new job 2 turn 0: 7 tokens after 0"});
  CHECK(first.b.actions == Texts{"new job 2 turn 0: 5 tokens after 0"});
  CHECK(at_step(a, first.a, "n_running") == "2");
  CHECK(at_step(b, first.b, "t_s") == "3");
  CHECK(first_kv_apart(a, b).step == 0);
}

TEST_CASE("KV that one cell pins and the other does not is the first difference of its KV") {
  HandMadeCell other = three_jobs();
  other.kv_events.clear();
  const sweep::CellResult a = three_jobs().result(), b = other.result();
  const FirstDifference first = first_kv_apart(a, b);
  CHECK(first.step == 3);
  REQUIRE(first.a.actions.size() == 1);
  CHECK(first.a.actions[0].starts_with("pin job 0 turn 0: 0 blocks ("));
  CHECK(first.b.actions.empty());
}

TEST_CASE("where one cell has ended the other's next step is the difference") {
  HandMadeCell shorter = three_jobs();
  shorter.steps.pop_back();
  std::erase_if(shorter.sched, [](const sweep::SchedRow& row) { return row.step == 5; });
  const sweep::CellResult a = three_jobs().result(), b = shorter.result();
  const FirstDifference first = first_scheduled_apart(a, b);
  CHECK(first.step == 5);
  CHECK(first.a.actions.size() == 3);
  CHECK(first.b.actions.empty());
  CHECK(at_step(b, first.b, "t_s") == "-");
}
