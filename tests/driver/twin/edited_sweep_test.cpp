#include "driver/twin/twin.hpp"

#include "tests/support/catch.hpp"

using driver::edited_sweep;

namespace {

const std::map<std::string, sweep::Value> kSizes{{"engine.block_size", std::int64_t{32}},
                                                 {"engine.kv_tokens", std::int64_t{8192}}};

std::string edited(const std::string& text) {
  return edited_sweep(sweep::parse_spec(text, "s.toml"), "a-twin", "sim", kSizes);
}

}  // namespace

TEST_CASE("values are edited where they stand, and comments and the rest stay") {
  CHECK(edited("schema = 1 # one\n[sweep]\nname = 'a' # its name\nbackend = \"server\"\n"
               "[axes]\ngpu = [\"h100-80gb\"]\n[engine]\nblock_size = 16 # tokens\n"
               "kv_tokens=100\n[workload]\nkind = \"agent8\"\n") ==
        "schema = 1 # one\n[sweep]\nname = \"a-twin\" # its name\nbackend = \"sim\"\n"
        "[axes]\ngpu = [\"h100-80gb\"]\n[engine]\nblock_size = 32 # tokens\n"
        "kv_tokens=8192\n[workload]\nkind = \"agent8\"\n");
}

TEST_CASE("keys that a sweep file lacks are added to [engine], however that is written") {
  const std::string head = "schema = 1\n[sweep]\nname = \"a\"\nbackend = \"server\"\n";
  const std::string axes = "[axes]\ngpu = [\"h100-80gb\"]\n";
  CHECK_THAT(edited(head + axes + "[engine]"),
             Catch::Matchers::EndsWith("[engine]\nkv_tokens = 8192\nblock_size = 32\n"));
  CHECK_THAT(edited(head + axes), Catch::Matchers::StartsWith("schema = 1\nengine."));
  CHECK_THAT(edited("schema = 1\nengine.block_size = 16\nsweep.name = \"a\"\n"
                    "sweep.backend = \"server\"\n" +
                    axes),
             Catch::Matchers::Contains("engine.block_size = 32\nsweep.name = \"a-twin\""));
  CHECK_THAT(edited("schema = 1\nengine = {block_size = 16, kv_tokens = 1}\n" +
                    head.substr(head.find('[')) + axes),
             Catch::Matchers::Contains("{block_size = 32, kv_tokens = 8192}"));
}

TEST_CASE("a file that cannot be edited is refused instead of written wrongly") {
  CHECK_THROWS_AS(edited("schema = 1\nengine = {block_size = 16}\n[sweep]\nname = \"a\"\n"
                         "[axes]\ngpu = [\"h100-80gb\"]\n"),
                  sweep::SpecError);
}
