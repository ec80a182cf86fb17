#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/definition/cell.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {
namespace {

constexpr const char* kSeed = R"(# question
schema = 1
[sweep]
name = "fuzz"
backend = "sim"
[axes]
gpu = ["h100-80gb", "a100-40gb"]
"engine.block_size" = [8, 16]
jps = [1, 3.5, inf]
dram_gib = [16, 128]
[repeat]
n = 2
seed = 42
[workload]
kind = "agent8"
gap_s = 1.0
nested = {a = 1, b.c = "x"}
[[include]]
gpu = "h200-141gb"
engine.block_size = 8
jps = [2, 4]
dram_gib = 16
[[exclude]]
gpu = "a100-40gb"
jps = [1]
reason = "why"
[[override]]
gpu = ["h100-80gb"]
engine.max_num_batched_tokens = 2048
)";

/// A million cells are allowed, and no error.
bool is_small(const sweep::SweepSpec& spec) {
  double cells = static_cast<double>(spec.repeat.n);
  for (const sweep::Axis& axis : spec.axes) cells *= static_cast<double>(axis.values.size());
  return cells < 10'000;
}

bool accepts_sweep(std::string_view bytes) {
  return accepted<sweep::SpecError>("m.toml:", [&] {
    const auto spec = sweep::parse_spec(std::string(bytes), "m.toml");
    sweep::first_planned(spec, {});
    if (!is_small(spec)) return;
    for (const sweep::Cell& cell : sweep::expand(spec, {})) sweep::canonical_json(cell.params);
  });
}

}  // namespace

Target sweep_target() {
  return {"sweep",
          accepts_sweep,
          [] { return std::vector<std::string>{kSeed}; },
          {"[",
           "]",
           "[[",
           "]]",
           "=",
           "\"",
           "'",
           "\n",
           ".",
           ",",
           "{",
           "}",
           "#",
           "\\",
           "\"\"\"",
           "nan",
           "-inf",
           "1979-05-27",
           "0x",
           "1e999",
           "true",
           "schema",
           "axes",
           "[axes]\n",
           "[[axes]]\n",
           "[repeat]\n",
           "reason = 1\n",
           "\xff",
           "\xef\xbb\xbf",
           "é",
           "[[exclude]]\n",
           "99999999999999999999",
           std::string(1, '\0')}};
}

}  // namespace fuzz
