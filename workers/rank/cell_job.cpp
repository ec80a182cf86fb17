#include "workers/rank/cell_job.hpp"

#include <nlohmann/json.hpp>
#include <tuple>

#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/files/sha256.hpp"
#include "version/kernels_digest.hpp"
#include "workers/backends/cuda/device/errors.hpp"
#include "workers/backends/cuda/device/profiler_range.hpp"
#include "workers/binding/binding.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/rank/fatal_mark.hpp"

// How a job travels: as CBOR.
using nlohmann::json;

template <>
struct nlohmann::adl_serializer<sweep::Value> {
  static void to_json(json& to, const sweep::Value& value) {
    std::visit([&](const auto& each) { to = each; }, value);
  }
  static void from_json(const json& from, sweep::Value& value) {
    if (from.is_boolean())
      value = from.get<bool>();
    else if (from.is_number_integer())
      value = from.get<std::int64_t>();
    else if (from.is_number())
      value = from.get<double>();
    else
      value = from.get<std::string>();
  }
};

namespace sweep {

static void to_json(json& to, const Location& at) { to = {at.file.text(), at.line, at.column}; }
static void from_json(const json& from, Location& at) {
  at = {from.at(0).get<std::string>(), from.at(1), from.at(2)};
}
static void to_json(json& to, const Param& param) { to = {param.value, param.where}; }
static void from_json(const json& from, Param& param) {
  param = {from.at(0).get<Value>(), from.at(1).get<Location>()};
}

}  // namespace sweep

namespace worker {
namespace {

/// The fields that travel, except the configuration.
template <class Job>
auto fields_of(Job& job) {
  auto& record = job.record;
  return std::tie(job.profiles, job.mark_path, job.level, job.params, record.key, record.index,
                  record.label, record.backend, record.repeat, record.seed, record.axes);
}

/// Frees the executor's host memory when a cell ends, unless the job says to keep it: the driver
/// relies on that.
class HostMemoryAfter {
 public:
  explicit HostMemoryAfter(Executor& executor) : executor_(executor) {}
  ~HostMemoryAfter() {
    if (!keep_) executor_.free_host_memory();
  }
  HostMemoryAfter(const HostMemoryAfter&) = delete;
  HostMemoryAfter& operator=(const HostMemoryAfter&) = delete;
  void keep() { keep_ = true; }

 private:
  Executor& executor_;
  bool keep_ = false;
};

/// ": KEY is X here, the driver planned Y", of a key at which they differ.
std::string difference(const json& here, const json& planned) {
  const json changes = json::diff(planned, here), absent = "absent";
  const std::string key = changes.at(0).at("path").get<std::string>().substr(1);
  return ": " + key + " is " + here.value(key, absent).dump() + " here, the driver planned " +
         planned.value(key, absent).dump();
}

class CellRunner {
 public:
  CellRunner(const Hello& self, int rank, std::shared_ptr<Executor> executor)
      : self_(self), rank_(rank), executor_(std::move(executor)) {}

  std::string operator()(const std::string& text, const CellContext& context) {
    std::vector<sweep::ShardContents> cells;
    for (CellJob& job : decode_jobs(text)) cells.push_back(run(std::move(job), context));
    return sweep::shard_bytes(std::move(cells));
  }

 private:
  sweep::ShardContents run(CellJob job, const CellContext& context) {
    const FatalMark mark(job.mark_path, job.record.key);
    server_log_ = server_log_of(job.mark_path);
    const BoundCell bound = bind_again(job);
    sweep::ShardContents contents;
    contents.record = std::move(job.record);
    describe_run(contents.record.run, context);
    const engine::WallClock wall;
    contents.result = run_on_device(bound.config, context, job.level,
                                    static_cast<std::uint64_t>(contents.record.index));
    contents.record.run.wall_s = engine::to_seconds(wall.now());
    contents.record.run.t_end_utc = engine::utc_now();
    contents.record.status = sweep::CellStatus::ok;
    contents.result.notes.push_back({"cell", contents.record.label});
    if (!self_.sku_source.empty())
      contents.result.notes.push_back({"sku_source", self_.sku_source, true});
    if (bound.config.backend == "cuda") {
      contents.result.notes.push_back({"engine_digest", self_.engine_digest, true});
      contents.result.notes.push_back({"kernels_digest", kKernelsDigest, true});
    }
    sweep::keep_level(contents, job.level);
    return contents;
  }

  sweep::CellResult run_on_device(const ExperimentConfig& config, const CellContext& context,
                                  sweep::RecordLevel level, std::uint64_t cell) {
    const backends::ProfilerRange range(backends::ProfilerName::cell, cell);
    HostMemoryAfter after(*executor_);
    try {
      sweep::CellResult result =
          run_experiment(config, kept_->workloads, *executor_,
                         {context.progress, context.stop, config.server ? server_log_ : "", level});
      if (context.keep_memory) after.keep();
      return result;
    } catch (const backends::DeviceLost& error) {
      throw DeviceLost(error.what());
    }
  }

  /// The file beside the archive A.h5 that a server writes to: A.h5.logs/HOST-RANK.log. The mark is
  /// in A.h5.d.
  std::string server_log_of(const std::string& mark_path) const {
    std::filesystem::path folder = std::filesystem::path(mark_path).parent_path();
    folder.replace_extension(".logs");
    return folder / (self_.host + '-' + std::to_string(rank_) + ".log");
  }

  BoundCell bind_again(const CellJob& job) {
    std::optional<Profiles>& profiles = kept_->profiles;
    if (!profiles || profiles->dir() != job.profiles) profiles.emplace(job.profiles);
    try {
      BoundCell bound = worker::bind(job.params, job.record.backend, job.record.seed, *profiles);
      bound.config.policy_name = bound.policy_label(job.record.axes);
      const std::string here = sweep::canonical_json(bound.identity);
      if (sweep::sha256_of(here) == job.record.key) return bound;
      throw InputError("this worker sees other profiles or input files than the driver: cell " +
                       job.record.label +
                       difference(json::parse(here), json::parse(job.record.config_json)));
    } catch (const Infeasible& reason) {
      throw CellVerdict(sweep::CellStatus::infeasible, reason.what());
    }
  }

  void describe_run(sweep::CellRun& run, const CellContext& context) const {
    run.attempts = std::max(1, context.attempt.number);  // 0: with other cells
    run.program = self_.program;
    run.host = self_.host;
    run.rank = rank_;
    run.slurm_job = self_.slurm_job;
    run.gpu_name = self_.device_name;
    run.gpu_uuid = self_.device_uuid;
    run.gpu_memory_bytes = self_.device_mib << 20;
    run.t_start_utc = engine::utc_now();
  }

  Hello self_;
  int rank_;
  std::string server_log_;
  struct Kept {
    std::optional<Profiles> profiles;  // as read for the first cell
    WorkloadCache workloads;
  };
  // RunCell is copyable; its copies are used one at a time.
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  std::shared_ptr<Executor> executor_;
};

}  // namespace

std::string encode_jobs(const std::vector<CellJob>& jobs) {
  json all = json::array();
  for (const CellJob& job : jobs) {
    json& fields = all.emplace_back(json::array({job.record.config_json}));
    std::apply([&](const auto&... each) { (fields.push_back(each), ...); }, fields_of(job));
  }
  std::string bytes;
  json::to_cbor(all, bytes);
  return bytes;
}

std::vector<CellJob> decode_jobs(const std::string& text) {
  try {
    std::vector<CellJob> jobs;
    for (const json& fields : json::from_cbor(text)) {
      CellJob& job = jobs.emplace_back();
      job.record.config_json = fields.at(0).get<std::string>();
      auto read = [&, at = std::size_t{0}](auto& each) mutable { fields.at(++at).get_to(each); };
      std::apply([&](auto&... each) { (read(each), ...); }, fields_of(job));
    }
    if (jobs.empty()) throw ProtocolError("not a cell job: there is none");
    return jobs;
  } catch (const json::exception& error) {
    throw ProtocolError(std::string("not a cell job: ") + error.what());
  }
}

RunCell make_cell_runner(const Hello& self, int rank, std::shared_ptr<Executor> executor) {
  return CellRunner(self, rank, std::move(executor));
}

std::string failed_shard(sweep::CellRecord record, int attempts, sweep::CellStatus kind,
                         const std::string& reason) {
  sweep::ShardContents contents;
  contents.record = std::move(record);
  contents.record.status = kind;
  contents.record.reason = reason;
  contents.record.run.attempts = attempts;
  contents.record.run.t_end_utc = engine::utc_now();
  return sweep::shard_bytes(std::move(contents));
}

}  // namespace worker
