// The keys of all cells of all sweeps in the tree: a key that changes makes kept results
// unfindable.
#include <algorithm>
#include <fstream>
#include <map>

#include "driver/plan/plan.hpp"
#include "sweeps/files/sha256.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/cell/execution.hpp"

using support::TempDir;
using support::text_of;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = KVSWEEP_SOURCE_DIR;
const fs::path kStored = kSource / "tests/driver/plan/cell_keys.txt";

/// Stands for a file of weights.
constexpr const char* kModel =
    R"({"id":"a","turns":[{"prompt_tokens":64,"output_tokens":8},{"prompt_tokens":32,"output_tokens":8}]})"
    "\n";

/// Sweeps without a trace of their own get this.
constexpr const char* kTrace =
    R"({"kvsweep_trace": 1, "converter": "test", "counts": {"jobs": 1, "turns": 2, )"
    R"("prompt_tokens": 400, "answer_tokens": 16, "arrivals": 1, "gaps": 1, "starts": 2}})"
    "\n"
    R"({"job": "a", "arrival_s": 0, "turns": [{"start_s": 0, "prompt": [[1, 200]], )"
    R"("answer": [[null, 8]]}, {"start_s": 2, "gap_s": 1, "prompt": [[1, 200]], )"
    R"("answer": [[null, 8]]}]})"
    "\n";

/// "NAME CELLS DIGEST": the digest is of the keys, one a line, in plan order; of the labels where
/// cells do not run, since the path of the jobs is in their keys.
std::string line_of(const fs::path& sweep, const std::string& model, const std::string& trace) {
  driver::Options options;
  options.profiles = kSource / "sweeps";
  const std::string text = text_of(sweep);
  const bool of_trace = text.find("kind = \"trace\"") != text.npos;
  if (of_trace && text.find("\npath = ") == text.npos)
    options.set = {"workload.path=\"" + trace + '"'};
  if (text.find("\"llamacpp\"") != text.npos)
    options.set.push_back("server.model_file=\"" + model + '"');
  const driver::Plan plan = driver::make_plan(sweep.string(), options);
  std::string keys;
  for (const driver::PlannedCell& cell : plan.cells)
    keys += (cell.runs() ? cell.key : worker::label(cell.cell)) + '\n';
  return sweep.stem().string() + ' ' + std::to_string(plan.cells.size()) + ' ' +
         sweep::sha256_of(keys);
}

}  // namespace

TEST_CASE("the keys of all cells of all sweeps in the tree are unchanged") {
  if (!worker::can_reach_servers()) SKIP_TEST("built without libcurl: some sweeps are of servers");
  const TempDir folder;
  const std::string model = folder.write("jobs.jsonl", kModel);
  const std::string trace = folder.write("trace.jsonl", kTrace);
  std::vector<fs::path> sweeps;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "sweeps/experiments"))
    if (entry.path().extension() == ".toml") sweeps.push_back(entry.path());
  std::ranges::sort(sweeps, {}, [](const fs::path& sweep) { return sweep.filename(); });
  REQUIRE(sweeps.size() > 40);
  std::string found;
  for (const fs::path& sweep : sweeps) found += line_of(sweep, model, trace) + '\n';
  const fs::path written = fs::temp_directory_path() / "kvsweep_cell_keys.txt";
  if (found != text_of(kStored)) std::ofstream(written) << found;
  INFO("found is in " << written << "; a key may change only with engine_abi, or with its sweep");
  CHECK(found == text_of(kStored));
}
