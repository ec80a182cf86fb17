#include <map>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/workload/workload_report.hpp"

using support::Cell;

TEST_CASE(
    "100 recorded agents, tokenized with cl100k, have the published shape and run on an H100") {
  const auto jobs = support::shared_path("data/trajectories/matched100.jsonl.xz");
  const auto vocabulary = support::shared_path("data/tokenizers/cl100k_base.tiktoken");
  if (!jobs || !vocabulary) SKIP_TEST("the recorded trajectories or the vocabulary are not here");
  Cell cell;
  cell.set("workload.kind", "trajectories")
      .set("workload.path", std::filesystem::absolute(*jobs).string())
      .set("workload.tokenizer", std::filesystem::absolute(*vocabulary).string())
      .set("sim.cost_model", "published");
  worker::WorkloadCache workloads;

  const worker::Load load = workloads.load(cell.config().workload, 16384);
  const workload::DatasetTable table = workload::dataset_table(load.workload);
  CHECK(table.jobs == 100);
  CHECK(table.turns == 1790);
  CHECK(table.prompt_tokens.p50 == Approx(6944).epsilon(0.03));
  CHECK(table.tokenizer == "cl100k_base.tiktoken");

  std::map<int, double> mean_jct_s;
  for (const int jps : {1, 3, 6, 10}) {
    const auto result = worker::run_experiment(cell.set("jps", jps).config(), workloads);
    CHECK(result.turns.rows() == 1790);
    mean_jct_s[jps] = support::figure(result, "jct_wall_mean_s");
  }
  // The pool is full from JPS 3 on: more load changes little, and less is faster.
  CHECK(mean_jct_s[1] < mean_jct_s[3]);
  CHECK(mean_jct_s[6] == Approx(mean_jct_s[3]).epsilon(0.05));
  CHECK(mean_jct_s[10] == Approx(mean_jct_s[6]).epsilon(0.05));
}
