#include "sweeps/definition/sweep.hpp"

#include "sweeps/definition/assignment.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

constexpr char kHead[] =
    "schema = 1\nsweep.name = \"s\"\n";  // two lines, so the body starts at line 3

SweepSpec read(const std::string& body) { return parse_spec(kHead + body, "m.toml"); }

std::string complaint(const std::string& body) {
  return message_of([&] { read(body); });
}

std::string whole_complaint(const std::string& text) {
  return message_of([&] { parse_spec(text, "m.toml"); });
}

std::vector<std::string> axis_names(const SweepSpec& spec) {
  std::vector<std::string> names;
  for (const Axis& axis : spec.axes) names.push_back(axis.name);
  return names;
}

constexpr char kAxes[] = R"([axes]
gpu = ["h100-80gb", "a100-40gb"]
policy = ["fcfs", "lmcache"]
jps = [1, 3.5]
)";  // lines 3 to 6 behind kHead

}  // namespace

TEST_CASE("a sweep file is read into its parts") {
  const SweepSpec spec = parse_spec(R"(
# Does block size matter?
schema = 1
[sweep]
name = "blocks"
backend = "sim"
[axes]
policy = ["fcfs", "lmcache"]
"engine.block_size" = [8, 16, 32]
gpu = "h100-80gb"
[repeat]
n = 3
seed = 7
[engine]
max_num_batched_tokens = 2048
[workload]
kind = "agent8"
[[exclude]]
policy = "lmcache"
engine.block_size = [8, 32]
reason = "chunks are 256 tokens"
[[override]]
gpu = ["h100-80gb"]
engine.kv_tokens = 300000
)",
                                    "blocks.toml");
  CHECK(spec.name == "blocks");
  REQUIRE(spec.backend.has_value());
  CHECK(spec.backend->value == Value(std::string("sim")));
  CHECK(axis_names(spec) == std::vector<std::string>{"policy", "engine.block_size", "gpu"});
  CHECK(spec.axes[1].values[2].value == Value(std::int64_t{32}));
  CHECK(to_text(spec.axes[1].values[2].where) == "blocks.toml:9:31");
  CHECK(spec.repeat.n == 3);
  CHECK(spec.repeat.seed == 7);
  CHECK(spec.base.size() == 2);
  CHECK(spec.base.at("workload.kind").value == Value(std::string("agent8")));
  REQUIRE(spec.excludes.size() == 1);
  CHECK(spec.excludes[0].when.size() == 2);
  CHECK(spec.excludes[0].reason == "chunks are 256 tokens");
  REQUIRE(spec.overrides.size() == 1);
  CHECK(spec.overrides[0].set.at("engine.kv_tokens").value == Value(std::int64_t{300000}));
}

TEST_CASE("further scalars of the sweep table and of the top level are parameters") {
  const SweepSpec spec = read("sweep.cost_model = \"published\"\ngpu = \"h100-80gb\"\n");
  CHECK(spec.base.at("sweep.cost_model").value == Value(std::string("published")));
  CHECK(spec.base.at("gpu").value == Value(std::string("h100-80gb")));
  CHECK(spec.axes.empty());
}

TEST_CASE("a schema that is missing, newer or no number is refused") {
  CHECK(whole_complaint("sweep.name = \"s\"\n") ==
        "m.toml: the key \"schema\" is missing; this version reads schema = 1");
  CHECK(whole_complaint("schema = 2\n") ==
        "m.toml:1:1: schema 2 is too new; this version reads schema = 1");
  CHECK(whole_complaint("schema = \"1\"\n") ==
        "m.toml:1:1: schema must be an integer, found the string \"1\"");
}

TEST_CASE("a sweep needs a name that can be a file name") {
  CHECK(whole_complaint("schema = 1\n") == "m.toml: the key \"sweep.name\" is missing");
  CHECK(whole_complaint("schema = 1\n[sweep]\nname = \"a/b\"\n") ==
        "m.toml:3:1: sweep.name must consist of letters, digits, '.', '_' and '-', found \"a/b\"");
}

TEST_CASE("an axis needs values, all different and of one kind") {
  CHECK(complaint("[axes]\njps = []\n") == "m.toml:4:1: axes.jps must list at least one value");
  CHECK(complaint("[axes]\njps = [1, 3, 1.0]\n") ==
        "m.toml:4:14: axes.jps lists 1.0 twice, first at m.toml:4:8");
  CHECK(complaint("[axes]\njps = [1, \"3\"]\n") ==
        "m.toml:4:11: axes.jps holds numbers, found the string \"3\"");
  CHECK(complaint("[axes]\njps = [1, [3]]\n") ==
        "m.toml:4:11: a value of axes.jps must be a boolean, an integer, a float or a string, "
        "found an array");
  CHECK(complaint("[axes]\njps = [nan]\n") == "m.toml:4:8: axes.jps cannot hold nan");
}

TEST_CASE("a key cannot be an axis and a parameter, or an axis and part of the sweep") {
  CHECK(complaint("jps = 4\n[axes]\njps = [1]\n") ==
        "m.toml:3:1: jps is an axis (m.toml:5:1) and is set here as well");
  CHECK(complaint("[axes]\n\"repeat.n\" = [1]\n") == "m.toml:4:1: \"repeat.n\" cannot be an axis");
}

TEST_CASE("a parameter is a single value") {
  CHECK(complaint("[engine]\nblock_size = [8, 16]\n") ==
        "m.toml:4:1: engine.block_size must be a single value, found an array; what varies is "
        "written under [axes]");
  CHECK(complaint("[a]\nb = 1\n\"c.d\" = 1\nc.d = 2\n") ==
        "m.toml:6:3: a.c.d is set twice, first at m.toml:5:1");
}

TEST_CASE("a table that looks like a misspelled section is one message") {
  CHECK(complaint("[repaet]\nn = 2\n") ==
        "m.toml:3:2: unknown section \"repaet\" (did you mean \"repeat\"?)");
  CHECK(complaint("[[overide]]\njps = 1\n") ==
        "m.toml:3:3: unknown section \"overide\" (did you mean \"override\"?)");
}

TEST_CASE("repeats are checked") {
  CHECK(complaint("[repeat]\nn = 0\n") ==
        "m.toml:4:1: repeat.n must be between 1 and 100000, found 0");
  CHECK(complaint("[repeat]\nsed = 1\n") ==
        "m.toml:4:1: unknown key \"repeat.sed\" (did you mean \"repeat.seed\"?)");
  CHECK(complaint("[repeat]\nseeds = [1, 2]\n") ==
        "m.toml:4:1: repeat.seeds cannot be a list: repeat.n says how many repeats there are, and "
        "their seeds are repeat.seed, repeat.seed + 1, ...");
  CHECK(complaint("repeat = 3\n") ==
        "m.toml:3:10: repeat must be a table, written as [repeat], found the integer 3");
}

TEST_CASE("an exclude names axes, values that they have, and a reason") {
  const std::string axes = kAxes;
  CHECK(complaint(axes + "[[exclude]]\npolcy = \"fcfs\"\nreason = \"r\"\n") ==
        "m.toml:8:1: [[exclude]] names \"polcy\", which is not an axis; axes: \"gpu\", \"policy\", "
        "\"jps\" (did you mean \"policy\"?)");
  CHECK(complaint(axes + "[[exclude]]\npolicy = [\"fcfs\", \"lmcach\"]\nreason = \"r\"\n") ==
        "m.toml:8:19: policy must be one of \"fcfs\", \"lmcache\", found \"lmcach\" (did you mean "
        "\"lmcache\"?)");
  CHECK(complaint(axes + "[[exclude]]\njps = 10\nreason = \"r\"\n") ==
        "m.toml:8:1: jps must be one of 1, 3.5, found 10");
  CHECK(complaint(axes + "[[exclude]]\njps = 1\n") ==
        "m.toml:7:1: [[exclude]] must give a reason = \"...\"");
  CHECK(complaint(axes + "[[exclude]]\nreason = \"r\"\n") ==
        "m.toml:7:1: [[exclude]] must name at least one axis");
  CHECK(complaint(axes + "[[exclude]]\njps = []\nreason = \"r\"\n") ==
        "m.toml:8:1: jps must list at least one value");
  CHECK(complaint(axes + "[exclude]\njps = 1\nreason = \"r\"\n") ==
        "m.toml:7:1: exclude must be written as [[exclude]], found a table");
}

TEST_CASE("a condition on a secret shows none of its values") {
  for (const char* key : {"\"server.env.HF_TOKEN\"", "\"server.header.X-Key\""}) {
    const std::string axes = std::string("[axes]\n") + key +
                             " = [\"hf_0123456789abcdefghij\", \"hf_abcdefghij0123456789\"]\n";
    for (const std::string& block :
         {axes + "[[exclude]]\n" + key + " = \"hf_abc12345678\"\nreason = \"r\"\n",
          axes + "[[override]]\n" + key + " = \"hf_abc12345678\"\nx = 1\n"}) {
      CHECK_THAT(complaint(block),
                 Contains("must be one of what looks like a secret") && !Contains("hf_"));
    }
    CHECK_THAT(
        complaint(std::string("[axes]\n") + key + " = [\"hf_abc12345678\", \"hf_abc12345678\"]\n"),
        Contains("twice") && !Contains("hf_"));
  }
}

TEST_CASE("an override names an axis and sets a parameter") {
  const std::string axes = kAxes;
  CHECK(complaint(axes + "[[override]]\nengine.x = 1\n") ==
        "m.toml:7:1: [[override]] must name at least one axis");
  CHECK(complaint(axes + "[[override]]\njps = 1\n") ==
        "m.toml:7:1: [[override]] must set at least one parameter");
  CHECK(complaint(axes + "[[override]]\npolcy = [\"fcfs\"]\njps = 1\n") ==
        "m.toml:8:1: polcy is not an axis and must be a single value, found an array (did you mean "
        "\"policy\"?)");
}

TEST_CASE("conditions may use values that only an include brings in") {
  const std::string include =
      std::string(kAxes) + "[[include]]\ngpu = \"l40s-48gb\"\npolicy = \"fcfs\"\njps = 1\n";
  CHECK(complaint(include + "[[override]]\ngpu = \"l40s-48gb\"\nengine.x = 1\n") == "no error");
  CHECK(complaint(std::string(kAxes) + "[[override]]\ngpu = \"l40s-48gb\"\nengine.x = 1\n") ==
        "m.toml:8:1: gpu must be one of \"h100-80gb\", \"a100-40gb\", found \"l40s-48gb\"");
}

TEST_CASE("a sweep file that is missing is named") {
  CHECK(message_of([] { load_spec("/no/such/sweep.toml"); }) ==
        "/no/such/sweep.toml: cannot be read: No such file or directory");
}

TEST_CASE("assignments take TOML values and bare words") {
  const auto value = [](const char* text) { return parse_assignment(text).param.value; };
  CHECK(value("engine.block_size=32") == Value(std::int64_t{32}));
  CHECK(value("jps=0.5") == Value(0.5));
  CHECK(value("flag=true") == Value(true));
  CHECK(value("gpu=h100-80gb") == Value(std::string("h100-80gb")));
  CHECK(value("id=\"7\"") == Value(std::string("7")));
  CHECK(value("path=/data/a b.jsonl") == Value(std::string("/data/a b.jsonl")));
  CHECK(value("day=2024-01-01") == Value(std::string("2024-01-01")));
  CHECK(parse_assignment("a.b=c=d").param.value == Value(std::string("c=d")));
  CHECK(to_text(parse_assignment("a=1").param.where) == "--set");
}

TEST_CASE("a key of parts without end is refused with its place, strings with dots are not") {
  std::string deep;
  for (int part = 0; part < 300'000; ++part) deep += "a.";
  const std::string what = ": a key has more than the 16 parts allowed";
  CHECK(message_of([&] { parse_spec("schema = 1\n" + deep + "a = 1\n", "m.toml"); }) ==
        "m.toml:2:32" + what);
  CHECK(message_of([&] { parse_spec("[" + deep + "a]\nb = 1\n", "m.toml"); }) ==
        "m.toml:1:33" + what);
  CHECK(message_of([&] { parse_spec("'x' . " + deep + "a = 1\n", "m.toml"); }) ==
        "m.toml:1:36" + what);
  const std::string texts =
      "[workload]\na = \"" + deep + "\\\"" + deep + "\"\nb = '" + deep + "'\nc = \"\"\"" + deep +
      "\n\"" + deep + "\"\"\"\"\n# " + deep +
      "\nd = " + "[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]";
  CHECK(message_of([&] { read(texts); }).find(what) == std::string::npos);
}

TEST_CASE("assignments that are none are refused") {
  const auto complaint_of = [](const std::string& text) {
    return message_of([&] { parse_assignment(text); });
  };
  CHECK(complaint_of("engine.block_size") ==
        "--set: expected key=value, found \"engine.block_size\"");
  CHECK(complaint_of("=3") == "--set: expected key=value, found \"=3\"");
  CHECK(complaint_of("jps=[1, 2]") ==
        "--set: jps must be a single value, found [1, 2]: several are an axis of the sweep file, "
        "[axes] jps = [1, 2]");
  CHECK(complaint_of("jps=") == "--set: jps must be a single value, found nothing");
  CHECK(complaint_of("gpu=\"h100") == "--set: gpu must be a single value, found \"h100");
  CHECK(complaint_of("gpu=\xff").starts_with("--set: gpu must be UTF-8 text"));
}

TEST_CASE("an assignment wins over parameters, overrides, axes and repeats") {
  SweepSpec spec = read(std::string(kAxes) +
                        "[engine]\nx = 1\n[[override]]\njps = 1\nengine.x = 2\nengine.y = 3\n");
  for (const char* text : {"engine.x=9", "jps=7", "repeat.n=5", "sweep.name=other",
                           "sweep.backend=cpu", "engine.new=1"}) {
    assign(spec, parse_assignment(text));
  }
  CHECK(spec.base.at("engine.x").value == Value(std::int64_t{9}));
  CHECK(spec.overrides[0].set.size() == 1);
  REQUIRE(spec.find_axis("jps") != nullptr);
  CHECK(spec.find_axis("jps")->values.size() == 1);
  CHECK(spec.repeat.n == 5);
  CHECK(spec.name == "other");
  CHECK(spec.backend->value == Value(std::string("cpu")));
  CHECK(spec.base.at("engine.new").value == Value(std::int64_t{1}));
}

TEST_CASE("an assignment to the sweep itself is checked like the file") {
  SweepSpec spec = read("");
  const auto complaint_of = [&](const char* text) {
    return message_of([&] { assign(spec, parse_assignment(text)); });
  };
  CHECK(complaint_of("repeat.n=0") == "--set: repeat.n must be between 1 and 100000, found 0");
  CHECK(complaint_of("sweep.name=a/b") ==
        "--set: sweep.name must consist of letters, digits, '.', '_' and '-', found \"a/b\"");
  CHECK(complaint_of("schema=2") == "--set: \"schema\" cannot be set from the command line");
}
