// The log of steps that kvsweep.vllm writes inside a server.
#include "workers/server/step_log.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using Catch::Matchers::Contains;
using server::StepLog;
using server::Taken;

namespace {

/// A log whose lines a test gives, each with its time behind it.
class LogWorld {
 public:
  explicit LogWorld(const std::string& how = "true") {
    add(R"({"kvsweep_steps":3,"vllm":"0.26.0","async":)" + how + R"(,"block_size":16,"t":0})");
  }
  LogWorld& add(const std::string& text, const std::string& end = "\n") {
    std::ofstream(path(), std::ios::app) << text << end;
    return *this;
  }
  /// A line with these fields.
  LogWorld& line(double t_s, const std::string& fields, int running = 1) {
    return add('{' + fields + (fields.empty() ? "" : ",") + R"("run":)" + std::to_string(running) +
               R"(,"wait":0,"t":)" + std::to_string(t_s) + '}');
  }
  StepLog read(double since_s = 0, std::int64_t from = 0) const {
    return server::read_step_log(path(), from, since_s);
  }
  std::string path() const { return (folder_.path() / "steps.jsonl").string(); }

 private:
  support::TempDir folder_;
};

const char* const kFirst =
    R"("ids":{"0":"cmpl-a-t0-0-1"},"batch":[[0,40]],"tokens":40,"new":[[0,16,0]])";

}  // namespace

TEST_CASE("a request has computed what was found for it and what steps have computed since") {
  LogWorld world;
  world.line(1, R"("ids":{"0":"a","1":"b"},"batch":[[0,2048]],"tokens":2048,"new":[[0,16,0]])");
  world.line(2, R"("batch":[[0,100],[1,30]],"tokens":130,"new":[[1,64,32]])");
  world.line(3, R"("batch":[0,1],"tokens":2)").line(4, "").line(5, R"("finished":[0,1])", 0);
  const StepLog log = world.read();
  CHECK(log.problem.empty());
  CHECK(log.idle);
  CHECK(log.ids == std::vector<std::string>{"a", "b"});
  REQUIRE(log.steps.size() == 3);
  CHECK(log.steps[0].shares.at(0).computed_before == 16);
  CHECK(log.steps[0].shares.at(0).taken == Taken::fresh);
  CHECK(log.steps[1].shares.at(0).computed_before == 2064);
  CHECK(log.steps[1].shares.at(0).taken == Taken::again);
  CHECK(log.steps[1].shares.at(1).computed_before == 64);
  CHECK(log.steps[2].shares.at(0).computed_before == 2164);
  CHECK(log.steps[2].shares.at(1).computed_before == 94);
}

TEST_CASE("a preempted request has computed nothing until it is resumed") {
  LogWorld world;
  world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)").line(3, R"("preempted":[0])");
  world.line(4, R"("batch":[[0,26]],"tokens":26,"resumed":[[0,32,0]])");
  world.line(5, R"("batch":[0],"tokens":1)").line(6, "").line(7, R"("finished":[0])", 0);
  const StepLog log = world.read();
  REQUIRE(log.steps.size() == 5);
  CHECK(log.steps[2].shares.empty());
  CHECK(log.steps[2].preempted.at(0).tokens == 57);
  CHECK(log.steps[3].shares.at(0).computed_before == 32);
  CHECK(log.steps[3].shares.at(0).taken == Taken::resumed);
  CHECK(log.steps[4].shares.at(0).computed_before == 58);
}

TEST_CASE("copies that begin are told, also where nothing is computed meanwhile") {
  LogWorld world("false");
  world.line(1, R"("ids":{"0":"a"},"loads":[[0,5]])").line(2, "");
  world.line(3, R"("batch":[[0,8]],"tokens":8,"new":[[0,80,80]],"stores":3)").line(4, "");
  const StepLog log = world.read();
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[0].loads.at(0).blocks == 5);
  CHECK(log.steps[0].end_s == log.steps[0].start_s);
  CHECK(log.steps[1].stored_blocks == 3);
  CHECK(log.steps[1].shares.at(0).taken == Taken::fresh);
}

TEST_CASE(
    "a step has the time of its own batch, which asynchronous scheduling is one call ahead of") {
  const auto times = [](const std::string& async) {
    LogWorld world(async);
    world.line(1, kFirst).line(1.5, R"("batch":[0],"tokens":1)").line(3, "");
    world.line(7, R"("finished":[0])", 0);
    std::vector<double> all;
    for (const server::LoggedStep& step : world.read().steps) {
      all.push_back(step.start_s);
      all.push_back(step.end_s);
    }
    return all;
  };
  CHECK(times("true") == std::vector<double>{1.5, 3, 3, 7});
  CHECK(times("false") == std::vector<double>{1, 1.5, 1.5, 3});
}

TEST_CASE("what was cut off is said, and the steps before it are kept") {
  LogWorld world("false");
  world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)").line(3, R"("batch":[0],"tokens":1)");
  world.add(R"({"batch":[0],"tok)", "");
  const StepLog log = world.read();
  CHECK_THAT(log.problem,
             Contains("line 5 is not as expected (it is cut off): {\"batch\":[0],\"tok"));
  CHECK(log.steps.size() == 2);
  CHECK_FALSE(log.idle);
}

TEST_CASE("a log that ends before its last batch does is short") {
  LogWorld world("false");
  world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)");
  CHECK(world.read().steps.size() == 1);
  CHECK_THAT(world.read().problem, Contains("ends before"));
}

TEST_CASE("lines that no scheduler writes end the steps, whatever they hold") {
  for (const char* wrong :
       {R"("batch":[7],"tokens":1)", R"("batch":[[0,2]],"tokens":3)", R"("batch":[-1],"tokens":1)",
        R"("batch":[[0]],"tokens":1)", R"("batch":[[0,1e99]],"tokens":1)",
        R"("batch":5,"tokens":5)", R"("batch":[[0,2147483647]],"tokens":2147483647)",
        R"("ids":{"x":"a"})", R"("ids":{"1":5})", R"("new":[[0,"a",0]])", R"("preempted":[9])",
        R"("loads":[[9,1]])", R"("loads":1)", R"("stores":[1])", R"("batch":[{}],"tokens":1)"}) {
    LogWorld world("false");
    world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)").line(3, wrong);
    world.line(4, R"("batch":[0],"tokens":1)");
    INFO(wrong);
    CHECK_THAT(world.read().problem, Contains("line 4 is not as expected"));
    CHECK(world.read().steps.size() == 1);
  }
  LogWorld text("false");
  text.add("null").add("[]");
  CHECK_FALSE(text.read().problem.empty());
}

TEST_CASE("a line that is too long or too deep ends the steps, and is counted from the beginning") {
  const std::size_t most = std::size_t{1} << 20, many = 400'000;
  for (const std::string& wrong :
       {std::string(most + 1, 'x'), std::string(3 * most, 'x'),
        "{\"run\":" + std::string(many, '[') + std::string(many, ']') + '}',
        std::string(many, '[') + std::string(many, ']'), std::string("{\"t\":1e999}")}) {
    LogWorld world("false");
    world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)");
    const std::int64_t from = server::end_of_lines(world.path());
    world.add(wrong).line(4, R"("batch":[0],"tokens":1)");
    for (const StepLog& log : {world.read(), world.read(3, from)}) {
      CHECK_THAT(log.problem, Contains("line 4 is not as expected"));
      CHECK(log.problem.size() < 500);
      CHECK_FALSE(log.idle);
    }
    CHECK(world.read().steps.size() == 1);
  }
  LogWorld long_line("false");
  long_line.line(1, kFirst).add("{\"t\":2,\"run\":0,\"wait\":0" + std::string(most - 100, ' ') +
                                '}');
  CHECK(long_line.read().idle);
}

TEST_CASE("a line of an earlier time than the one before it ends the steps") {
  LogWorld world("false");
  world.line(1, kFirst).line(2, R"("batch":[0],"tokens":1)").line(-3, "");
  CHECK_THAT(world.read().problem, Contains("line 4 is not as expected (its time goes back)"));
}

TEST_CASE("lines from before a cell are not its steps") {
  LogWorld world("false");
  world.line(1, kFirst).line(2, R"("finished":[0])", 0);
  const std::int64_t from = server::end_of_lines(world.path());
  world.line(8, R"("ids":{"1":"b"},"batch":[1],"tokens":1,"new":[[1,0,0]])");
  world.line(9, R"("finished":[1])", 0);
  for (const StepLog& log : {world.read(5), world.read(5, from)}) {
    REQUIRE(log.steps.size() == 1);
    CHECK(log.ids.at(log.steps[0].shares.at(0).request) == "b");
  }
}

TEST_CASE("a file that is no log of steps, or one of another version, is refused") {
  LogWorld world;
  CHECK_THROWS_WITH(server::read_step_log("/nonexistent.jsonl", 0, 0), Contains("/nonexistent"));
  const std::string other = world.path() + ".other";
  for (const char* head :
       {"", "hello", "[1]", R"({"kvsweep_steps":1})", R"({"kvsweep_steps":{}})",
        R"({"kvsweep_steps":3,"async":"yes"})", R"({"kvsweep_steps":3,"block_size":-4})"}) {
    std::ofstream(other, std::ios::trunc) << head << '\n';
    INFO(head);
    CHECK_THROWS_WITH(server::read_step_log(other, 0, 0), Contains(other));
  }
  std::ofstream(other, std::ios::trunc) << R"({"kvsweep_steps":3,"x":)" << std::string(400'000, '[')
                                        << std::string(400'000, ']') << "}\n";
  CHECK_THROWS_WITH(server::read_step_log(other, 0, 0), Contains("256 levels"));
}
