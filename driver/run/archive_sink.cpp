#include "driver/run/archive_sink.hpp"

#include "sweeps/definition/canonical_json.hpp"
#include "workers/rank/cell_job.hpp"
#include "workers/rank/host.hpp"

namespace driver {
namespace {

std::string outcome_text(const sweep::CellRecord& record) {
  const double jct = figure_of(record.figures, "jct_wall_mean_s"),
               steps = figure_of(record.figures, "steps");
  const std::string text = sweep::formatted("mean jct_wall %.1f s", jct);
  return std::isnan(steps) ? text : text + sweep::formatted(", %.0f steps", steps);
}

void group_by_server(const Plan& plan, std::vector<CellTask>& tasks) {
  const auto server_of = [&](const CellTask& task) -> const auto& {
    return plan.cells[static_cast<std::size_t>(task.cell)].repeats->server;
  };
  std::map<decltype(std::declval<server::ServerConfig>().start()), CellTask> groups;
  const auto group_of = [&](const CellTask& task) -> CellTask* {
    const auto& server = server_of(task);
    return server ? &groups[server->start()] : nullptr;
  };
  for (const CellTask& task : tasks) {
    CellTask* group = group_of(task);
    if (group == nullptr) continue;
    if (group->group == 0) group->group = task.cell + 1;
    group->group_s = std::max(group->group_s, task.estimate_s);
  }
  for (CellTask& task : tasks) {
    const CellTask* group = group_of(task);
    if (group == nullptr) continue;
    task.group = group->group;
    task.group_s = group->group_s;
    task.one_server = !server_of(task)->url.empty();
  }
}

class ArchiveSink final : public FarmSink {
 public:
  ArchiveSink(const Plan& plan, const std::string& profiles, sweep::Archive& archive,
              const SpaceWait& with_space, ProgressLine& progress, Crew crew)
      : plan_(plan),
        profiles_(profiles),
        archive_(archive),
        with_space_(with_space),
        progress_(progress),
        crew_(crew) {}
  ~ArchiveSink() override {
    for (const auto& [cell, mark] : running_) {
      try {
        leave_mark(mark, mark.deaths);
      } catch (const std::exception&) {
        // The exception that ends the run reports the cause.
      }
    }
  }
  ArchiveSink(const ArchiveSink&) = delete;
  ArchiveSink& operator=(const ArchiveSink&) = delete;

  void on_worker(int worker, const worker::Hello& hello) override {
    if (hello.sku.empty()) return;  // accepts cells of any SKU
    std::string text = std::to_string(worker) + " on " + hello.host + " is a " + hello.sku;
    if (!hello.device_name.empty())
      text += " (" + hello.device_name + ", " + std::to_string(hello.device_mib) + " MiB)";
    progress_.report("worker " + text);
    workers_ += (workers_.empty() ? "" : "; ") + text;
    with_space_([&] { archive_.describe_run("workers", workers_); });
  }
  std::string config_of(const std::vector<int>& cells) override {
    const std::string mark = archive_.marks().path(record_of(cells.front()).key);
    std::vector<worker::CellJob> jobs;
    for (const int cell : cells)
      jobs.push_back({record_of(cell), plan_.cells[static_cast<std::size_t>(cell)].cell.params,
                      profiles_, mark, plan_.record});
    return worker::encode_jobs(jobs);
  }
  void on_start(const AssignCell& start, const worker::Hello& worker) override {
    const sweep::CellRecord& record = record_of(start.attempt.cell);
    sweep::RunMark mark;
    mark.key = record.key;
    for (const int cell : start.more) mark.with.push_back(record_of(cell).key);
    mark.attempt = start.attempt.number;
    mark.host = worker.host;
    mark.pid = worker.pid;
    mark.start_ticks = worker.start_ticks;
    mark.phase = "run";
    mark.alone = crew_ == Crew::one_child;
    mark.deaths = start.deaths;
    with_space_([&] { archive_.marks().write(mark); });
    running_[start.attempt.cell] = mark;
  }
  void on_done(sweep::Attempt attempt, const worker::Hello&, std::string&& result) override {
    std::vector<std::string> keys = running_.at(attempt.cell).with;
    keys.insert(keys.begin(), running_.at(attempt.cell).key);
    std::vector<const sweep::CellRecord*> records;
    with_space_([&] { records = archive_.commit(keys, result); });
    running_.erase(attempt.cell);
    for (const sweep::CellRecord* record : records)
      progress_.report(record->label + ": " + outcome_text(*record));
    archive_.merge_if_due();
  }
  void on_attempt_ended(const AttemptEnded& ended) override {
    const sweep::CellRecord& record = record_of(ended.attempt.cell);
    std::string what = ": attempt " + std::to_string(ended.attempt.number);
    if (const auto running = running_.find(ended.attempt.cell); running != running_.end()) {
      with_space_([&] { leave_mark(running->second, ended.deaths); });
      const std::size_t with = running->second.with.size();
      if (with > 0) what = " and " + std::to_string(with) + " small cells that ran with it";
      running_.erase(running);
    }
    progress_.report(record.label + what + " ended: " + ended.reason);
  }
  void on_ended(const CellEnded& ended) override {
    const auto& [last, kind, reason] = ended;
    const sweep::CellRecord& record = record_of(last.cell);
    std::string outcome = ": " + std::string(sweep::to_text(kind)) + ": " + reason;
    if (record.status == sweep::CellStatus::ok) {
      with_space_([&] { archive_.marks().remove(record.key); });
      outcome +=
          "; its result at the level " + std::string(sweep::to_text(record.level)) + " stays";
    } else {
      const std::string shard = worker::failed_shard(record, last.number, kind, reason);
      with_space_([&] { archive_.commit(record.key, shard); });
    }
    running_.erase(last.cell);
    progress_.report(record.label + outcome);
  }
  void on_stop_asked(std::optional<int> alone) override {
    for (const auto& [cell, mark] : running_) {
      try {
        if (!sweep::process_is_gone(mark, self_.name))
          archive_.marks().add(mark.key, "stopped", "1");
        else if (alone == cell)
          archive_.marks().add(mark.key, "died", "its process was gone, and no other cell ran");
      } catch (const sweep::ArchiveNoSpace&) {
        // The mark matters only if this process is killed before the cell ends. A stop must not
        // wait for disk space.
      }
    }
  }
  void on_status(const FarmStatus& status) override {
    constexpr Nanos kBeatPeriod = std::chrono::seconds(10);
    if (!last_beat_ || status.now - *last_beat_ >= kBeatPeriod) {
      archive_.heartbeat();
      last_beat_ = status.now;
    }
    progress_.update(status);
  }

 private:
  const sweep::CellRecord& record_of(int cell) const {
    return archive_.cells()[static_cast<std::size_t>(cell)];
  }
  /// Clears the mark of an attempt that ended without a verdict. The mark stays if attempts at this
  /// cell killed their process.
  void leave_mark(sweep::RunMark mark, int deaths) {
    if (deaths == 0) {
      archive_.marks().remove(mark.key);
    } else if (deaths == mark.deaths) {
      archive_.marks().add(mark.key, "stopped", "1");
    } else {
      mark.deaths = deaths;
      mark.stopped = "1";
      archive_.marks().write(mark);  // without the word that the dying process left
    }
  }

  const Plan& plan_;
  std::map<int, sweep::RunMark> running_;  // by plan index, which is the archive's row
  std::string workers_;                    // the GPU and node of each, for /provenance
  worker::Host self_ = worker::detect_host();
  std::string profiles_;
  sweep::Archive& archive_;
  const SpaceWait& with_space_;
  ProgressLine& progress_;
  Crew crew_;
  std::optional<Nanos> last_beat_;  // on the farm's clock
};

}  // namespace

std::map<int, double> expected_seconds(const Plan& plan, const std::set<std::string>& done) {
  std::map<int, double> expected;
  worker::WorkloadCache workloads;
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.runs() || done.contains(planned.key)) continue;
    expected[planned.cell.index] = cost_of(planned, workloads).busy_s;
  }
  return expected;
}

std::vector<CellTask> tasks_left(const Plan& plan, const std::map<int, double>& expected_s,
                                 const sweep::Archive& archive, bool retry_quarantined) {
  std::map<std::string, sweep::RunMark> starts;  // of an earlier run that did not finish them
  for (const sweep::RunMark& mark : archive.deaths()) starts[mark.key] = mark;
  std::vector<CellTask> tasks;
  for (const PlannedCell& planned : plan.cells) {
    const sweep::CellRecord& record = archive.cells()[static_cast<std::size_t>(planned.cell.index)];
    if (!planned.selected || !planned.runs() || record.has_result(plan.least)) continue;
    if (record.status == sweep::CellStatus::quarantined && !retry_quarantined) continue;
    CellTask task{.cell = planned.cell.index, .sku = planned.repeats->gpu};
    if (const auto s = expected_s.find(task.cell); s != expected_s.end())
      task.estimate_s = s->second;
    task.host_gib = planned.repeats->host_gib;
    task.attempts = record.run.attempts;
    if (const auto start = starts.find(planned.key); start != starts.end()) {
      task.attempts = std::max(task.attempts, start->second.attempt);
      task.deaths = sweep::deaths_of(start->second);
      task.alone = true;
    }
    tasks.push_back(task);
  }
  group_by_server(plan, tasks);
  return tasks;
}

std::unique_ptr<FarmSink> archive_sink(const Plan& plan, const std::string& profiles,
                                       sweep::Archive& archive, const SpaceWait& with_space,
                                       ProgressLine& progress, Crew crew) {
  return std::make_unique<ArchiveSink>(plan, profiles, archive, with_space, progress, crew);
}

}  // namespace driver
