#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using Catch::Matchers::Contains;
using support::Cell;

namespace {

/// Two jobs: "timed" has a tool time for both its gaps, "untimed" lacks the second one.
constexpr const char* kJobs =
    R"({"id": "timed", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}, {"role": "assistant", "content": "c"}, {"role": "tool", "content": "d"}, {"role": "assistant", "content": "e"}], "turns": [{"exec_s": 0.5}, {"exec_s": 2.25}]}
{"id": "untimed", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}, {"role": "assistant", "content": "c"}, {"role": "tool", "content": "d"}, {"role": "assistant", "content": "e"}], "turns": [{"exec_s": 0.125}]}
)";

class Recorded {
 public:
  Recorded() {
    cell.set("workload.kind", "trajectories")
        .set("workload.path", folder_.write("jobs.jsonl", kJobs))
        .set("workload.gap", "recorded");
  }
  std::string input_error() const {
    try {
      cell.run();
    } catch (const worker::InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  Cell cell;

 private:
  support::TempDir folder_;
};

}  // namespace

TEST_CASE("recorded tool times are the gaps of the replay, and the fallback fills in for others") {
  Recorded recorded;
  const sweep::CellResult result = recorded.cell.set("workload.gap_fallback_s", 7).run();
  CHECK(support::by_turn<double>(result, "gap_s") ==
        std::vector<double>{0.5, 2.25, 0, 0.125, 7, 0});
  const auto arrive = support::by_turn<double>(result, "t_arrive_s");
  const auto finish = support::by_turn<double>(result, "t_finish_s");
  CHECK(arrive[2] == Approx(finish[1] + 2.25).margin(1e-9));
  CHECK(arrive[5] == Approx(finish[4] + 7).margin(1e-9));
}

TEST_CASE("a turn without a recorded tool time is an error that names line and turn") {
  const std::string message = Recorded().input_error();
  CHECK_THAT(message, Contains("jobs.jsonl:2: "));
  CHECK_THAT(message, Contains("\"untimed\", turn 2"));
  CHECK_THAT(message, Contains("gap_fallback_s"));
}

TEST_CASE("the result lists the jobs of the file that were left out") {
  Recorded recorded;
  recorded.cell.set("workload.gap", "constant").set("workload.jobs", 1);
  const sweep::CellResult result = recorded.cell.run();
  const sweep::Note* note = sweep::find_named(result.notes, "curation");
  REQUIRE(note != nullptr);
  CHECK_THAT(note->text, Contains("2 jobs in the file"));
  CHECK_THAT(note->text, Contains("1 not needed"));
  CHECK(result.jobs.values<std::string>("id") == std::vector<std::string>{"timed"});
}

TEST_CASE("recorded arrivals must cover every job") {
  const support::TempDir folder;
  Recorded recorded;
  recorded.cell.without("jps")
      .set("workload.gap", "constant")
      .set("workload.arrivals", "trace")
      .set("workload.arrival_trace", folder.write("one.txt", "0.5\n"));
  CHECK_THAT(recorded.input_error(), Contains("must hold an arrival for each of the 2 jobs"));
  recorded.cell.set("workload.arrival_trace", folder.write("two.txt", "0.5\n3\n"));
  CHECK(support::reals(recorded.cell.run().jobs, "t_arrive_s") == std::vector<double>{0.5, 3});
}

TEST_CASE("a context over the limit of the engine is refused with the job's line") {
  Recorded recorded;
  recorded.cell.set("workload.gap", "constant").set("engine.max_model_len", 16);
  CHECK_THAT(recorded.input_error(), Contains("jobs.jsonl:1: job \"timed\" grows to "));
  CHECK_THAT(recorded.input_error(), Contains("limit of 16"));
}
