#include "analysis/compare/external_cell.hpp"
#include "sweeps/spec/params.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {
namespace {

bool accepts_external(std::string_view bytes) {
  static const InputFile kFile;
  const std::string& path = kFile.holding(bytes);
  return accepted<sweep::SpecError>(path, [&] { analysis::load_external(path); });
}

}  // namespace

Target external_target() {
  return {"external",
          accepts_external,
          [] {
            return std::vector<std::string>{
                R"x({"format": "kvsweep-external", "version": 1, "name": "generate()",
"experiment": "lab-naive", "kind": "MEASURED (torch 2.9, NVIDIA A100)",
"config": {"gpu": "a100-40gb", "engine.max_num_seqs": 16, "scale": 0.5, "exact": true},
"figures": {"output_tok_per_s": 293.5, "jobs": 16}, "passes": [{"seconds": 7}]})x"};
          },
          {"{", "}", "[", "]", ",", ":", "\"", "null", "true", "-1", "1e308", "1e999", "\xff",
           "18446744073709551615", "\"\"", "[[", "{\"a\":"}};
}

}  // namespace fuzz
