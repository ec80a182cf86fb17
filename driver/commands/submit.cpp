#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>

#include "analysis/text/list.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/report.hpp"
#include "driver/submit/cluster.hpp"
#include "driver/submit/scripts.hpp"
#include "workers/rank/host.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> skus_of(const Plan& plan) {
  std::vector<std::string> skus;
  for (const PlannedCell& planned : plan.cells) analysis::add_once(skus, planned.gpu());
  return skus;
}

void check_options(const Options& options, const Plan& plan, const Cluster& cluster) {
  if (options.skus.empty())
    throw UsageError("submit needs --sku: one job is submitted for each GPU that it names");
  if (!options.archive)
    throw UsageError(
        "submit needs --archive DIR/results.h5, on storage that "
        "all nodes share");
  const std::vector<std::string> planned = skus_of(plan);
  for (const std::string& sku : options.skus) {
    if (std::ranges::count(options.skus, sku) > 1)
      throw UsageError("--sku " + sku + " is named more than once: one job has one archive");
    if (std::ranges::find(planned, sku) != planned.end()) continue;
    throw UsageError("--sku " + sku + ": no cell of " + plan.spec.path +
                     " is pinned to it; its GPUs are: " + sweep::joined(planned));
  }
  for (const std::string& only : options.only)
    if (only.starts_with("gpu=") || only.find(",gpu=") != std::string::npos)
      throw UsageError("--only " + only + ": of submit, --sku says which GPUs");
  if (cluster.account_required && options.account.value_or("").empty())
    throw UsageError("this cluster charges every job to an account: give --account ACCOUNT (" +
                     cluster.place_of("cluster.account_required") + " = true)");
}

/// The cells of a SKU that are left to run, with what is known from the archive that its job
/// continues. Throws UsageError when the merged archive has results that this one lacks: a job with
/// an archive of its own does not read the merged one, so it would run them again.
std::vector<PlanLine> cells_left(const Submission& submission, const std::string& sku) {
  const auto lines_of = [&](const fs::path& archive) {
    return report_plan(submission.plan, {},
                       fs::exists(archive) ? std::optional(archive) : std::nullopt)
        .lines;
  };
  const fs::path own = submission.paths.of_sku(sku), archive = submission.paths.archive;
  std::vector<PlanLine> cells = lines_of(own);
  std::erase_if(cells, [&](const PlanLine& line) { return !line.runs || line.cell->gpu() != sku; });
  std::set<std::string> not_merged;
  for (const PlanLine& line : lines_of(archive))
    if (line.runs) not_merged.insert(line.cell->key);
  const std::size_t merged = std::erase_if(
      cells, [&](const PlanLine& line) { return !not_merged.contains(line.cell->key); });
  if (merged == 0 || !fs::exists(own)) return cells;
  throw UsageError(archive.string() + " has " + std::to_string(merged) + " of the cells that " +
                   own.string() + " lacks, and a job would run them again: submit " +
                   submission.paths.of(".merge.sbatch").string() + " and move " + own.string() +
                   " away");
}

/// Leaves the cell that is expected to take about two minutes, long enough to be drained.
void leave_smoke_cell(std::vector<PlanLine>& cells) {
  constexpr double kSmokeS = 120;
  const auto off = [](const PlanLine& line) { return std::abs(std::log(line.busy_s / kSmokeS)); };
  cells = {*std::ranges::min_element(cells, {}, off)};
}

/// The scripts of the SKUs that have something left to do, then the one that merges.
std::vector<BatchScript> scripts_of(const Submission& submission) {
  const Options& options = submission.options;
  std::vector<BatchScript> scripts;
  for (const std::string& sku : options.skus) {
    std::vector<PlanLine> cells = cells_left(submission, sku);
    if (cells.empty()) {
      std::cerr << sku << ": nothing is left to run\n";
      continue;
    }
    simulate(cells, worker::detect_host().cores);
    if (options.smoke) leave_smoke_cell(cells);
    scripts.push_back(sku_script(
        submission,
        size_job(sku, std::move(cells), submission.plan.backend, submission.cluster, options)));
  }
  scripts.push_back(merge_script(submission, skus_of(submission.plan)));
  return scripts;
}

/// Writes a script; one that was there and differs, perhaps edited by hand, is kept.
void write_script(const BatchScript& script) {
  std::string before;
  if (std::ifstream there(script.file); there)
    before.assign(std::istreambuf_iterator<char>(there), {});
  if (before == script.text) return;
  if (!before.empty()) {
    fs::path kept = script.file.string() + ".old";  // or, where that is there, FILE.old2, ...
    for (int number = 2; fs::exists(kept); ++number)
      kept = script.file.string() + ".old" + std::to_string(number);
    fs::rename(script.file, kept);
    std::cout << script.file.string() << " differed and is now " << kept.string() << '\n';
  }
  analysis::write_file(script.file, [&](std::ostream& out) { out << script.text; });
}

/// The first line that a command prints. Its standard error is ours. Throws std::runtime_error
/// unless it exits with 0.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("this failed: " + command);
  return out.substr(0, out.find('\n'));
}

std::string submit_script(const BatchScript& script, const std::string& options) {
  const std::string printed =
      output_of("sbatch --parsable " + options + "'" + script.file.string() + "'");
  const std::string job = printed.substr(0, printed.find(';'));  // "JOB" or "JOB;CLUSTER"
  std::cout << "job " << job << ": " << script.summary << std::endl;
  return job;
}

/// The merge waits until these jobs have ended, one way or the other, and for other merges of the
/// same sweep.
std::string dependency_on(const std::vector<std::string>& jobs) {
  const std::string all = jobs.empty() ? "" : "afterany:" + sweep::joined(jobs, ":") + ',';
  return "--dependency=" + all + "singleton ";
}

void submit_all(const std::vector<BatchScript>& scripts) {
  std::vector<std::string> jobs;
  try {
    for (const BatchScript& script : scripts) {
      const bool merges = &script == &scripts.back();
      jobs.push_back(submit_script(script, merges ? dependency_on(jobs) : ""));
    }
  } catch (const std::runtime_error& error) {
    if (jobs.empty()) throw;
    throw std::runtime_error(std::string(error.what()) +
                             "; submitted before that, and still queued: " +
                             sweep::joined(jobs, " ") + " (scancel takes them back)");
  }
}

/// How to submit by hand what was written.
void print_commands(const std::vector<BatchScript>& scripts) {
  std::vector<std::string> jobs;
  for (const BatchScript& script : scripts) {
    const bool merges = &script == &scripts.back();
    std::cout << "# " << script.summary << '\n'
              << "sbatch " << (merges ? dependency_on(jobs) : "") << script.file.string() << '\n';
    jobs.push_back("JOB" + std::to_string(jobs.size() + 1));
  }
}

void print_scripts(const std::vector<BatchScript>& scripts) {
  for (const BatchScript& script : scripts)
    std::cout << (&script == &scripts.front() ? "" : "\n") << "# ----- " << script.file.string()
              << '\n'
              << script.text;
}

void check_submit(const SubmitOptions& submit) {
  if (submit.print && submit.go) throw UsageError("--print and --go exclude each other");
  constexpr int kMostGpus = 100'000;  // far above any cluster's, far below where sums overflow
  const int gpus = submit.gpus.value_or(1);
  if (gpus < 1 || gpus > kMostGpus)
    throw UsageError("--gpus must be from 1 to " + std::to_string(kMostGpus) + ", found " +
                     std::to_string(gpus));
  if (submit.launcher != "mpirun" && submit.launcher != "srun")
    throw UsageError("--launcher must be mpirun or srun, found \"" + submit.launcher + '"');
}

}  // namespace

int submit(const Options& options) {
  check_submit(options);
  check_script_words(options);
  const Cluster cluster = load_cluster(options.scripts / "clusters", options.cluster);
  const Plan plan = make_plan(options.arguments.front(), options);
  check_options(options, plan, cluster);
  const Submission submission{options, cluster, plan, SubmitPaths(*options.archive)};
  const std::vector<BatchScript> scripts = scripts_of(submission);
  if (options.print) {
    print_scripts(scripts);
    return kOk;
  }
  if (const fs::path folder = submission.paths.archive.parent_path(); !fs::is_directory(folder))
    throw UsageError("--archive: there is no folder " + folder.string());
  for (const BatchScript& script : scripts) write_script(script);
  options.go ? submit_all(scripts) : print_commands(scripts);
  return kOk;
}

}  // namespace driver
