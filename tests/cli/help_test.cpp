#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Outcome;
using support::Program;

TEST_CASE("without arguments, and with --help, the program lists its commands") {
  const Program program;
  const Outcome outcome = program.run({});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (const std::string command : {"kvsweep run ", "kvsweep workload "})
    CHECK_THAT(outcome.out, Contains(command));
  CHECK(program.run({"--help"}).out == outcome.out);
  CHECK(program.run({"help"}).out == outcome.out);
}

TEST_CASE("every command explains itself and its own options") {
  const std::vector<std::pair<std::string, std::string>> an_option_of = {{"run", "--as-sku SKU"},
                                                                         {"workload", "--turn T"}};
  for (const auto& [command, option] : an_option_of) {
    const Outcome outcome = Program().run({command, "--help"});
    INFO(command);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK_THAT(outcome.out, StartsWith("kvsweep " + command + " "));
    CHECK_THAT(outcome.out, Contains(option));
  }
  CHECK_THAT(Program().run({"workload", "--help"}).out, !Contains("--fake-device"));
  CHECK(Program().run({"help", "workload"}).out == Program().run({"workload", "--help"}).out);
}

TEST_CASE("a misspelled command or option is refused with the nearest one") {
  const auto refusal = [](const std::vector<std::string>& words) {
    const Outcome outcome = Program().run(words);
    CHECK(outcome.exit_code == 2);
    return outcome.err;
  };
  CHECK_THAT(refusal({"pln"}), Contains("unknown command \"pln\" (did you mean plan?)"));
  CHECK_THAT(refusal({"help", "pln"}), Contains("(did you mean plan?)"));
  CHECK_THAT(refusal({"run", "a.toml", "--arhive", "b"}),
             Contains("run: unknown option --arhive (did you mean --archive?)"));
  CHECK_THAT(refusal({"plan", "a.toml", "--fake-device", "d"}),
             Contains("plan does not take --fake-device"));
}

TEST_CASE("the version names what the program was built with") {
  const Outcome outcome = Program().run({"--version"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, StartsWith("kvsweep "));
  for (const std::string part : {"HDF5 ", "Boost ", "CUDA ", "archives packed by "})
    CHECK_THAT(outcome.out, Contains(part));
  CHECK(Program().run({"-V"}).out == outcome.out);
}
