#include "driver/submit/scripts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ranges>
#include <regex>

#include "analysis/text/text_table.hpp"

namespace driver {
namespace {

// Time before the first cell: the ranks start, and a real model loads its weights.
constexpr double kSimStartS = 60, kModelStartS = 600;
// Plans come from cost models of kernels; real hosts and loads deviate.
constexpr double kTimeReserve = 1.25;
constexpr int kTimeStepMin = 5;
// Host memory of a simulated cell: its events and tables, without a model.
constexpr double kSimGib = 4;

std::string hours_text(double seconds) { return analysis::four_digits(seconds / 3600) + " h"; }

/// The longest that `workers` are busy if each always takes the longest cell that is left.
double work_of(const std::vector<PlanLine>& cells, double longest_s, int workers) {
  double sum_s = 0;
  for (const PlanLine& line : cells) sum_s += line.busy_s;
  return sum_s / workers + longest_s * (1 - 1.0 / workers);
}

int nodes_for(int gpus, int per_node) { return (gpus + per_node - 1) / per_node; }

/// Slurm spreads ranks and GPUs evenly: all nodes of a job have the same number.
bool is_even(int gpus, int per_node) { return gpus % nodes_for(gpus, per_node) == 0; }

void check_gpus(const SkuJob& job, const Cluster& cluster, int gpus) {
  const int per_node = job.on.gpus_per_node;
  if (is_even(gpus, per_node)) return;
  int less = gpus, more = gpus;
  while (!is_even(less, per_node)) --less;
  while (!is_even(more, per_node)) ++more;
  throw UsageError("--gpus " + std::to_string(gpus) + ": a node of " + job.sku + " has " +
                   std::to_string(per_node) + " (" +
                   cluster.place_of("sku." + job.sku + ".gpus_per_node") +
                   "), and nodes of one job have equally many: give " + std::to_string(less) +
                   " or " + std::to_string(more));
}

/// Sets nodes and GPUs per node to what was asked for, or to fewer so that every GPU has a cell.
void place_on_nodes(SkuJob& job, const Cluster& cluster, const SubmitOptions& options) {
  const int per_node = job.on.gpus_per_node;
  check_gpus(job, cluster, options.gpus.value_or(1));
  int gpus = std::min(options.gpus.value_or(1), static_cast<int>(job.cells.size()));
  while (!is_even(gpus, per_node)) --gpus;
  job.nodes = nodes_for(gpus, per_node);
  job.gpus_per_node = gpus / job.nodes;
}

void size_memory(SkuJob& job, const std::string& backend, const Cluster& cluster) {
  const std::string key = "sku." + job.sku + ".node_memory_gib";
  const double beside = job.gpus_per_node * (backend == "sim" ? kSimGib : cluster.staging_gib);
  double largest = 0;
  for (const PlanLine& line : job.cells) largest = std::max(largest, line.host_gib);
  job.tier_gib = job.gpus_per_node * largest;
  const double node_gib = std::floor(job.on.node_memory_gib);  // --mem takes whole GiB
  if (node_gib > 0 && beside + largest > node_gib) {
    throw sweep::SpecError(cluster.place_of(key) + " is " +
                           analysis::four_digits(job.on.node_memory_gib) + ", but a cell of " +
                           job.sku + " with a host tier of " + analysis::four_digits(largest) +
                           " GiB needs " + analysis::four_digits(beside + largest));
  }
  // Cells that do not fit on a node together run one after another.
  if (node_gib > 0) job.tier_gib = std::min(job.tier_gib, node_gib - beside);
  const double memory_gib = std::ceil(job.tier_gib + beside);
  job.memory_gib = static_cast<int>(node_gib > 0 ? std::min(memory_gib, node_gib) : memory_gib);
}

/// Refuses a time limit that leaves no time for a cell, or less than the longest cell needs.
void check_time(const SkuJob& job, const Cluster& cluster, const SubmitOptions& options) {
  const std::string given = "--time " + *options.time;
  const int time_s = job.time_min * 60;
  if (time_s <= cluster.signal_lead_s)
    throw UsageError(given + " leaves no time for a cell: a job drains " +
                     std::to_string(cluster.signal_lead_s) + " s before its limit (" +
                     cluster.place_of("cluster.signal_lead_s") + ')');
  if (time_s < job.longest_s + cluster.end_margin_s)
    throw UsageError(given + " is " + std::to_string(time_s) + " s, but the longest cell of " +
                     job.sku + " needs " + analysis::four_digits(job.longest_s) + " s, and " +
                     std::to_string(cluster.end_margin_s) + " s to the limit (" +
                     cluster.place_of("cluster.end_margin_s") + ')');
}

/// Minutes, rounded up, of a time as Slurm has it: "90", "90:00", "1:30:00", "1-0", "0-01:30".
/// Throws UsageError.
int minutes_of(const std::string& time) {
  static const std::regex kForm(R"((?:(\d{1,6})-)?(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?)");
  std::smatch fields;
  std::int64_t seconds = 0;
  if (std::regex_match(time, fields, kForm)) {
    // With days the first field is hours; else the last of two or three fields is seconds.
    std::int64_t unit_s = fields[1].matched || fields[4].matched ? 3600 : 60;
    if (fields[1].matched) seconds = std::stoi(fields[1]) * std::int64_t{24 * 3600};
    for (std::size_t i = 2; i < fields.size() && fields[i].matched; ++i, unit_s /= 60)
      seconds += std::stoi(fields[i]) * unit_s;
  }
  constexpr std::int64_t kMost = std::int64_t{10} * 365 * 24 * 3600;
  if (seconds >= 1 && seconds <= kMost) return static_cast<int>((seconds + 59) / 60);
  throw UsageError(
      "--time must be as Slurm has it, from a minute to ten years: MINUTES, MINUTES:SECONDS, "
      "HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or DAYS-HOURS:MINUTES:SECONDS; "
      "found \"" +
      time + '"');
}

/// The longest job, in hours, of its QOS or else of the cluster, and the place of that key.
std::pair<double, std::string> max_hours(const Cluster& cluster, const SubmitOptions& options) {
  const std::string qos = options.qos.value_or(cluster.qos);
  const auto found = cluster.qos_hours.find(qos);
  if (found != cluster.qos_hours.end())
    return {found->second, cluster.place_of("qos." + qos + ".max_hours")};
  if (!cluster.qos_hours.empty() && !qos.empty())
    throw UsageError("--qos " + qos + ": " + cluster.file + " has no table [qos." + qos +
                     "]; it has: " + sweep::joined(std::views::keys(cluster.qos_hours)));
  return {cluster.max_hours, cluster.place_of("cluster.max_hours")};
}

/// Sets the time limit in minutes from --time or the plan, never above the cluster's limit.
void size_time(SkuJob& job, const std::string& backend, const Cluster& cluster,
               const SubmitOptions& options) {
  const auto [hours, place] = max_hours(cluster, options);
  const double limit_s = hours * 3600;
  const double start_s = backend == "sim" ? kSimStartS : kModelStartS;
  const double least_s = start_s + job.longest_s + cluster.signal_lead_s;
  if (least_s > limit_s) {
    throw sweep::SpecError(place + " is " + hours_text(limit_s) + ", but the longest cell of " +
                           job.sku + " needs " + hours_text(least_s) + " with start and drain");
  }
  const double whole_s = start_s + kTimeReserve * job.work_s + cluster.signal_lead_s;
  if (options.time) {
    job.time_min = minutes_of(*options.time);
    if (job.time_min * 60 > limit_s)
      throw UsageError("--time " + *options.time + " is more than " + place + ", " +
                       hours_text(limit_s));
    check_time(job, cluster, options);
  } else {
    const double steps = std::ceil(whole_s / 60 / kTimeStepMin);
    job.time_min = static_cast<int>(std::min(steps * kTimeStepMin, std::floor(limit_s / 60)));
  }
  job.in_one_run = whole_s <= job.time_min * 60;
}

}  // namespace

SkuJob size_job(const std::string& sku, std::vector<PlanLine> cells, const std::string& backend,
                const Cluster& cluster, const SubmitOptions& options) {
  SkuJob job;
  job.sku = sku;
  job.on = cluster.nodes_of(sku);
  job.cells = std::move(cells);
  // Emulated GPUs are asked for as real ones are.
  job.needs_gpus = backend == "cuda" || backend == "server" || !cluster.fake_devices.empty();
  place_on_nodes(job, cluster, options);
  for (const PlanLine& line : job.cells) job.longest_s = std::max(job.longest_s, line.busy_s);
  job.work_s = work_of(job.cells, job.longest_s, job.gpus());
  size_memory(job, backend, cluster);
  size_time(job, backend, cluster, options);
  return job;
}

std::string slurm_time(int minutes) {
  return sweep::formatted("%02d:%02d:00", minutes / 60, minutes % 60);
}

}  // namespace driver
