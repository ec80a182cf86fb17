#include "driver/plan/plan.hpp"

#include <unordered_map>

#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "sweeps/definition/assignment.hpp"
#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/definition/selection.hpp"
#include "sweeps/files/sha256.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/binding/keys.hpp"
#include "workers/cell/execution.hpp"

namespace driver {
namespace {

constexpr const char* kBackends[] = {"sim", "cpu", "cuda", "server"};

std::string backend_of(const sweep::SweepSpec& spec, const Options& options) {
  if (!options.backend && !spec.backend)
    throw sweep::SpecError(spec.path + ": no backend: give [sweep] backend or --backend, one of " +
                           sweep::joined(kBackends));
  const std::string backend =
      options.backend ? *options.backend : sweep::bare_text(spec.backend->value);
  require_backend(backend, options.backend
                               ? "--backend"
                               : sweep::to_text(spec.backend->where) + ": sweep.backend");
  return backend;
}

sweep::RecordLevel record_of(const sweep::SweepSpec& spec, const Options& options) {
  if (options.record) return *options.record;
  if (!spec.record) return sweep::RecordLevel::all;
  const std::string text = sweep::bare_text(spec.record->value);
  if (const auto level = sweep::record_level_of(text)) return *level;
  throw sweep::SpecError(sweep::to_text(spec.record->where) +
                         ": sweep.record must be summary, jobs or all, found \"" + text + '"');
}

constexpr std::string_view kSeed = "repeat.seed";

/// The identity of a cell that does not run: its parameters as written.
std::string bare_config(const sweep::Cell& cell, const std::string& backend) {
  sweep::ParamMap params = cell.params;
  params["backend"].value = backend;
  params[std::string(kSeed)].value = cell.seed;
  return sweep::canonical_json(params);
}

/// Host memory that a cell takes while it runs, GiB: of its tier, or what a server is told.
double host_gib(const sweep::Cell& cell, const worker::BoundCell& bound) {
  const worker::ExperimentConfig& config = bound.config;
  const bool takes = config.server ? bound.counting.contains("dram_gib")
                                   : config.engine.tier.kind != engine::TierKind::none;
  if (config.backend == "sim" || !takes) return 0;
  const auto dram = cell.params.find("dram_gib");
  if (dram == cell.params.end()) {
    const std::int64_t bytes = config.engine.tier.host_blocks * config.bytes_per_block;
    return static_cast<double>(bytes) / 0x1p30;
  }
  return analysis::number_of(dram->second.value);
}

class Binder {
 public:
  Binder(std::string backend, std::shared_ptr<worker::Profiles> profiles)
      : backend_(std::move(backend)), profiles_(std::move(profiles)) {}

  /// Everything that a cell shares with its other repeats.
  std::shared_ptr<const BoundRepeats> bind(const sweep::Cell& cell, bool selected) {
    auto repeats = std::make_shared<BoundRepeats>();
    repeats->status = cell.status;
    repeats->reason = cell.reason;
    repeats->backend = backend_;
    repeats->profiles = profiles_;
    bound_.reset();
    if (cell.status == sweep::CellStatus::planned) bind_cell(*repeats, cell, selected);
    std::string& config = repeats->config;
    config = bound_ ? sweep::canonical_json(bound_->identity) : bare_config(cell, backend_);
    // A text in it has no quote without a backslash, so this can only be the member.
    const std::string member = '"' + std::string(kSeed) + "\":";
    repeats->seed_at = config.find(member) + member.size();
    config.erase(repeats->seed_at, std::to_string(cell.seed).size());
    if (bound_) keep_bound(*repeats, cell);
    before_ = repeats;
    return repeats;
  }
  /// The configuration of the cell bound last, as the repeat with this seed; null: it does not run.
  const worker::ExperimentConfig* config(std::int64_t seed) {
    if (!bound_) return nullptr;
    worker::set_arrival_seed(bound_->config, seed);
    return &bound_->config;
  }

 private:
  /// Binds a cell that is to run. What is wrong with an unselected one makes it infeasible, since
  /// it concerns only runs that select it.
  void bind_cell(BoundRepeats& repeats, const sweep::Cell& cell, bool selected) {
    const auto cannot_run = [&repeats](const std::exception& error) {
      repeats.status = sweep::CellStatus::infeasible;
      repeats.reason = error.what();
    };
    try {
      bound_ = worker::bind(cell.params, backend_, cell.seed, *profiles_);
    } catch (const worker::NotBuilt& error) {
      cannot_run(error);
      repeats.status = sweep::CellStatus::excluded;
    } catch (const worker::Infeasible& reason) {
      cannot_run(reason);
    } catch (const sweep::SpecError& error) {
      if (selected) throw;
      cannot_run(error);
    }
  }

  /// Keeps the answers that many cells are asked for, without binding them again.
  void keep_bound(BoundRepeats& repeats, const sweep::Cell& cell) {
    repeats.runs = true;
    repeats.gpu = bound_->config.gpu.name;
    repeats.policy = bound_->policy_label(cell.axes);
    repeats.host_gib = host_gib(cell, *bound_);
    if (bound_->config.server)
      repeats.server = std::make_shared<const server::ServerConfig>(*bound_->config.server);
    const bool equal = before_ && before_->counting && *before_->counting == bound_->counting;
    repeats.counting =
        equal ? before_->counting : std::make_shared<const std::set<std::string>>(bound_->counting);
  }

  std::string backend_;
  std::shared_ptr<worker::Profiles> profiles_;
  std::optional<worker::BoundCell> bound_;
  std::shared_ptr<const BoundRepeats> before_;
};

/// Whether the two are repeats of one cell that the plan treats alike.
bool are_repeats(const PlannedCell& one, const sweep::Cell& other, bool selected) {
  return one.selected == selected && one.cell.params.shares_with(other.params) &&
         (one.cell.status == sweep::CellStatus::excluded) ==
             (other.status == sweep::CellStatus::excluded);
}

PlannedCell plan_cell(sweep::Cell cell, bool selected, const std::string& backend,
                      std::shared_ptr<const BoundRepeats> repeats) {
  PlannedCell planned{.cell = std::move(cell), .selected = selected, .key = {}};
  planned.repeats = std::move(repeats);
  if (backend == "server")
    for (auto& [axis, value] : planned.cell.axes)
      if (axis == "server.profile") axis = "policy";  // what a server has in place of one
  planned.cell.status = planned.repeats->status;
  planned.cell.reason = planned.repeats->reason;
  if (planned.runs()) {
    for (auto& [axis, value] : planned.cell.axes)
      if (axis == "policy") value = planned.repeats->policy;
  }
  planned.key = sweep::sha256_of(planned.config_json());
  return planned;
}

/// Cells under the names that --only and --skip accept. A server's profile counts as its policy; on
/// another backend, the policy that stands for it. Empty where no cell has a profile.
std::vector<sweep::Cell> with_policies(const std::vector<sweep::Cell>& cells,
                                       const std::string& backend) {
  const std::string key = "server.profile";
  const auto has_profile = [&](const sweep::Cell& cell) { return cell.params.contains(key); };
  if (std::ranges::none_of(cells, has_profile)) return {};
  std::vector<sweep::Cell> named = cells;
  for (sweep::Cell& cell : named) {
    if (!has_profile(cell) || cell.params.contains("policy")) continue;
    const std::string profile = sweep::bare_text(cell.params.at(key).value);
    const auto policy = cell.params.find(backend == "server" ? key : key + '.' + profile + ".sim");
    if (policy == cell.params.end()) continue;
    const sweep::Param value = policy->second;
    cell.params["policy"] = value;
  }
  return named;
}

/// Leaves the one cell that an index or the start of a key names.
void select_cell(Plan& plan, const std::string& word) {
  const int cell = find_cell(planned_records(plan), word);
  for (PlannedCell& planned : plan.cells)
    planned.selected = planned.selected && planned.cell.index == cell;
}

/// The first axis in which `other` differs from `one`; empty where there is none.
std::string differing_axis(const sweep::Cell& one, const sweep::Cell& other) {
  for (const auto& [axis, value] : other.axes) {
    const auto found = one.params.find(axis);
    if (found == one.params.end() || found->second.value != value) return axis;
  }
  return {};
}

/// Throws SpecError when two cells are the same experiment, because the keys in which they differ
/// have no effect on this backend. An archive has only one row per experiment.
void require_distinct(const Plan& plan) {
  std::unordered_map<std::string_view, const sweep::Cell*> cells;
  for (const PlannedCell& planned : plan.cells) {
    const auto [first, is_new] = cells.emplace(planned.key, &planned.cell);
    if (is_new) continue;
    const std::string axis = differing_axis(*first->second, planned.cell);
    const auto value = planned.cell.params.find(axis);
    const bool known = value != planned.cell.params.end();
    throw sweep::SpecError(
        (known ? sweep::to_text(value->second.where) : plan.spec.path) + ": the cells \"" +
        worker::label(*first->second) + "\" and \"" + worker::label(planned.cell) +
        "\" are one experiment on backend " + plan.backend +
        (known ? ", where " + axis + " has no effect: --set it to one value" : ""));
  }
}

}  // namespace

std::string PlannedCell::gpu() const {
  const auto gpu = cell.params.find("gpu");
  return gpu == cell.params.end() ? "" : sweep::bare_text(gpu->second.value);
}

worker::ExperimentConfig PlannedCell::config() const {
  return worker::bind(cell.params, repeats->backend, cell.seed, *repeats->profiles).config;
}

std::string PlannedCell::config_json() const {
  return std::string(repeats->config).insert(repeats->seed_at, std::to_string(cell.seed));
}

void require_backend(const std::string& backend, const std::string& where) {
  if (std::ranges::find(kBackends, backend) == std::end(kBackends))
    throw sweep::SpecError(where + " must be one of " + sweep::joined(kBackends) + ", found \"" +
                           backend + '"');
  if (backend == "server" && !worker::can_reach_servers())
    throw sweep::SpecError(where + " is \"server\", which needs libcurl, and this kvsweep was " +
                           "built without it; --backend sim models such a sweep");
}

Plan make_plan(const std::string& path, const Options& options, worker::WorkloadCache* workloads) {
  Plan plan;
  plan.spec = sweep::load_spec(path);
  for (const std::string& text : options.set)
    sweep::assign(plan.spec, sweep::parse_assignment(text));
  plan.backend = backend_of(plan.spec, options);
  plan.record = record_of(plan.spec, options);
  if (options.record || plan.spec.record) plan.least = plan.record;
  const auto profiles = std::make_shared<worker::Profiles>(options.profiles);
  const sweep::KeyRules rules = worker::key_rules(*profiles);
  Binder binder(plan.backend, profiles);
  const bool all = options.only.empty() && options.skip.empty();
  if (const auto first = sweep::first_planned(plan.spec, rules); first && all)
    binder.bind(*first, all);
  std::vector<sweep::Cell> cells = sweep::expand(plan.spec, rules);
  const std::vector<sweep::Cell> named =
      all ? std::vector<sweep::Cell>() : with_policies(cells, plan.backend);
  const sweep::Selection selection(named.empty() ? cells : named, options.only, options.skip,
                                   analysis::read_label);
  plan.cells.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    sweep::Cell& cell = cells[i];
    const bool selected = selection.contains(named.empty() ? cell : named[i]);
    const bool repeats = !plan.cells.empty() && are_repeats(plan.cells.back(), cell, selected);
    auto bound = repeats ? plan.cells.back().repeats : binder.bind(cell, selected);
    plan.cells.push_back(plan_cell(std::move(cell), selected, plan.backend, std::move(bound)));
    PlannedCell& planned = plan.cells.back();
    const auto* config =
        workloads != nullptr && selected ? binder.config(planned.cell.seed) : nullptr;
    if (config != nullptr) planned.cost = estimate(planned, *config, *workloads);
  }
  require_distinct(plan);
  if (options.cell) select_cell(plan, *options.cell);
  if (std::ranges::none_of(plan.cells, &PlannedCell::selected))
    throw sweep::SpecError(path + ": --only and --skip leave no cell");
  return plan;
}

const PlannedCell& first_to_run(const Plan& plan) {
  std::map<std::string, int> reasons;
  for (const PlannedCell& planned : plan.cells) {
    if (planned.selected && planned.runs()) return planned;
    if (planned.selected)
      ++reasons[std::string(sweep::to_text(planned.cell.status)) + ": " + planned.cell.reason];
  }
  std::string text = plan.spec.path + ": no cell can run";
  for (const auto& [reason, cells] : reasons)
    text += "\n" + std::to_string(cells) + (cells == 1 ? " cell is " : " cells are ") + reason;
  throw sweep::SpecError(text);
}

std::vector<sweep::CellRecord> planned_records(const Plan& plan) {
  std::vector<sweep::CellRecord> records;
  records.reserve(plan.cells.size());
  for (const PlannedCell& planned : plan.cells) {
    sweep::CellRecord& record = records.emplace_back();
    record.key = planned.key;
    record.index = planned.cell.index;
    record.label = worker::label(planned.cell);
    record.axes = planned.cell.axes;
    record.config_json = planned.config_json();
    record.backend = plan.backend;
    record.repeat = planned.cell.repeat;
    record.seed = planned.cell.seed;
    record.status = planned.cell.status;
    record.reason = planned.cell.reason;
    if (!planned.selected && record.status == sweep::CellStatus::planned)
      record.reason = "not asked for: left out by --only, --skip or --cell";
  }
  return records;
}

CellCost estimate(const PlannedCell& planned, const worker::ExperimentConfig& config,
                  worker::WorkloadCache& workloads) {
  const worker::CellEstimate expected = worker::estimate_cell(modelled(planned, config), workloads);
  const worker::ServerStarts starts = worker::server_starts(config);
  return {expected.served_s,
          worker::busy_seconds(config, expected) + (starts.each_cell ? starts.seconds : 0),
          expected.assumed, starts};
}

worker::ExperimentConfig modelled(const PlannedCell& planned,
                                  const worker::ExperimentConfig& config) {
  if (!config.server) {
    worker::ExperimentConfig sim = config;
    if (config.backend != "sim")
      sim.cost_model = backends::usual_cost_model(config.gpu, config.model);
    return sim;
  }
  try {
    return worker::bind(planned.cell.params, "sim", planned.cell.seed, *planned.repeats->profiles)
        .config;
  } catch (const sweep::SpecError&) {
  } catch (const worker::Infeasible&) {
  }
  return config;
}

CellCost cost_of(const PlannedCell& planned, worker::WorkloadCache& workloads) {
  return planned.cost ? *planned.cost : estimate(planned, planned.config(), workloads);
}

double figure_of(const std::vector<sweep::Figure>& figures, std::string_view name) {
  const sweep::Figure* found = sweep::find_named(figures, name);
  return found == nullptr ? sweep::kNotObserved : found->value;
}

}  // namespace driver
