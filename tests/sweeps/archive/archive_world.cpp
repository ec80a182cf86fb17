#include "tests/sweeps/archive/archive_world.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/files/sha256.hpp"
#include "tests/support/catch.hpp"

using namespace sweep;

ArchiveWorld::ArchiveWorld(int cells, int steps_per_cell)
    : files(&real_), steps_per_cell_(steps_per_cell) {
  for (int i = 0; i < cells; ++i) plan.push_back(planned(i));
  options.sweep_name = "order-or-retention";
  options.spec_text = "schema = 1\n[sweep]\nname = \"order-or-retention\"\n";
  options.tool_version = "0.1.0";
  options.now_utc = "2025-01-01T00:00:00Z";
  options.self = {"node-1", ::getpid(), "4711"};
  options.warn = [this](const std::string& message) { warnings.push_back(message); };
}

CellRecord ArchiveWorld::planned(int cell) const {
  CellRecord record;
  record.index = cell;
  record.axes = {{"gpu", std::string(cell % 2 == 0 ? "h100-80gb" : "a100-40gb")},
                 {"jps", std::int64_t{cell}}};
  if (cell % 3 == 0) record.axes.emplace_back("dram_gib", std::int64_t{16});
  record.label =
      "gpu=" + std::get<std::string>(record.axes[0].second) + " jps=" + std::to_string(cell);
  record.config_json = canonical_json(
      std::map<std::string, Value>{{"jps", std::int64_t{cell}}, {"policy", std::string("fcfs")}});
  record.key = sha256_of(record.config_json);
  record.backend = "sim";
  record.seed = 42;
  return record;
}

ShardContents ArchiveWorld::result(int cell) const {
  ShardContents contents;
  contents.record = planned(cell);
  contents.record.status = CellStatus::ok;
  contents.record.run = {
      1, "2.0.0 (0)", "node-" + std::to_string(cell % 3), 1, "", "", 0, "4711", "", "", 0.25};
  std::vector<JobRow> jobs;
  JobRow job;
  job.id = "job-" + std::string(static_cast<std::size_t>(cell % 7), 'x');
  jobs.push_back(job);
  std::vector<StepRow> steps;
  std::vector<SchedRow> sched;
  const int count = steps_per_cell_ + cell % 5;
  for (int i = 0; i < count; ++i) {
    StepRow step;
    step.step = i + 1;
    step.t_s = 0.01 * i + cell;
    step.dur_s = 0.01;
    step.n_tok = 1 + (i * 37 + cell) % 2048;
    step.t_wait_s = 1e-6 * i;
    steps.push_back(step);
    SchedRow row;
    row.step = i + 1;
    row.tokens = step.n_tok;
    sched.push_back(row);
  }
  contents.result.jobs = to_table<JobRow>(jobs);
  contents.result.steps = to_table<StepRow>(steps);
  contents.result.sched = to_table<SchedRow>(sched);
  contents.result.figures = {{"jct_wall_mean_s", 1.5 * cell, "s", false},
                             {"host_s", 0.1 * cell, "s", true}};
  contents.result.notes = {{"kv_pool", "auto" + variant, false}};
  keep_level(contents, level);
  return contents;
}

std::string ArchiveWorld::bytes(int cell) const { return shard_bytes(result(cell)); }

std::string ArchiveWorld::bytes(const std::vector<int>& cells) const {
  std::vector<ShardContents> contents;
  for (const int cell : cells) contents.push_back(result(cell));
  return shard_bytes(std::move(contents));
}

std::string ArchiveWorld::key(int cell) const { return planned(cell).key; }

std::vector<std::string> ArchiveWorld::keys(const std::vector<int>& cells) const {
  std::vector<std::string> keys;
  for (const int cell : cells) keys.push_back(key(cell));
  return keys;
}

Archive& ArchiveWorld::open(OpenMode mode) {
  archive_.reset();
  options.mode = mode;
  archive_ = std::make_unique<Archive>(path(), options, plan, *files);
  return *archive_;
}

void ArchiveWorld::run_all(const std::vector<int>& order) {
  for (const int cell : order) {
    commit(cell);
    archive_->merge_if_due();
  }
  archive_->finalize();
}

std::vector<int> ArchiveWorld::done() const {
  std::vector<int> cells;
  for (const CellRecord& cell : archive_->cells()) {
    if (cell.has_result(options.record))
      cells.push_back(static_cast<int>(std::get<std::int64_t>(cell.axes[1].second)));
  }
  return cells;
}

std::set<int> acknowledged_by(const std::function<void(const std::function<void(int)>&)>& action,
                              int& status) {
  int channel[2];
  REQUIRE(::pipe(channel) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    action([&](int cell) {
      const char byte = static_cast<char>(cell);
      if (::write(channel[1], &byte, 1) != 1) ::_exit(9);
    });
    ::_exit(0);
  }
  ::close(channel[1]);
  std::set<int> cells;
  char byte;
  while (::read(channel[0], &byte, 1) == 1) cells.insert(byte);
  ::close(channel[0]);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return cells;
}
