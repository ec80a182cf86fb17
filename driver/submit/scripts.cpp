#include "driver/submit/scripts.hpp"

#include <fstream>
#include <regex>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace driver {
namespace {

/// Placeholder -> text. A text may have several lines.
using TemplateValues = std::map<std::string, std::string>;

/// The line with its placeholders replaced; empty optional if one of the values is empty.
std::optional<std::string> fill_line(const std::string& line, const TemplateValues& values,
                                     const std::string& where) {
  static const std::regex kPlaceholder(R"(\{\{(.*?)\}\})");
  std::string filled;
  auto from = line.begin();
  for (std::sregex_iterator at(from, line.end(), kPlaceholder), none; at != none; ++at) {
    const auto value = values.find((*at)[1]);
    if (value == values.end())
      throw sweep::SpecError(where + ": nothing is known for the placeholder " + at->str());
    if (value->second.empty()) return std::nullopt;
    filled.append(from, (*at)[0].first).append(value->second);
    from = (*at)[0].second;
  }
  return filled.append(from, line.end());
}

/// Returns the file with every {{name}} replaced. Drops a line if the text of one of its
/// placeholders is empty, and keeps one of several consecutive empty lines. Throws sweep::SpecError
/// with file and line for an unknown placeholder.
std::string fill_template(const std::filesystem::path& file, const TemplateValues& values) {
  std::ifstream in(file);
  if (!in) throw sweep::SpecError(file.string() + ": the template cannot be read");
  std::string text;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = file.string() + ':' + std::to_string(++number);
    const std::optional<std::string> filled = fill_line(line, values, where);
    if (!filled || (filled->empty() && text.ends_with("\n\n"))) continue;
    text += *filled + '\n';
  }
  return text;
}

namespace fs = std::filesystem;

std::string about(double seconds) {
  if (seconds < 120) return sweep::formatted("%.0f s", std::ceil(seconds));
  if (seconds < 7200) return sweep::formatted("%.0f min", std::ceil(seconds / 60));
  return sweep::formatted("%.1f h", seconds / 3600);
}

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

std::string no_gpu(const Submission& submission, const SkuJob& job) {
  return job.needs_gpus
             ? ""
             : " Backend " + submission.plan.backend + " needs no GPU, so none is requested.";
}

std::string summary_of(const Submission& submission, const SkuJob& job) {
  std::string text =
      submission.plan.spec.name + ": " + counted(job.cells.size(), "cell") + " of " + job.sku;
  text += ", planned to take about " + about(job.work_s) + " on " +
          counted(static_cast<std::size_t>(job.gpus()), job.needs_gpus ? "GPU" : "worker") + '.' +
          no_gpu(submission, job);
  if (submission.options.smoke) text += " A smoke test: its first start is drained.";
  if (!job.in_one_run) text += " More than one run may have: the job requeues itself.";
  return text;
}

/// One rank drives, every other rank owns a GPU. Ranks are placed round-robin over the nodes, so
/// the first node has the driver and workers.
std::string launcher(const Submission& submission, const SkuJob& job) {
  const std::string ranks = std::to_string(job.gpus() + 1);
  const bool srun = submission.options.launcher == "srun";
  const std::string& command = srun ? submission.cluster.srun : submission.cluster.mpirun;
  if (command.empty())
    throw sweep::SpecError(submission.cluster.place_of(srun ? "cluster.srun" : "cluster.mpirun") +
                           " is empty, and nothing else starts the ranks");
  return command + (srun ? " --distribution=cyclic --ntasks=" : " --map-by node -n ") + ranks;
}

/// The array that stands before kvsweep in a script, with folders that kvsweep needs and that the
/// image does not have by itself; empty: no image has it.
std::string container(const Submission& submission, std::vector<std::string> folders) {
  const Cluster& cluster = submission.cluster;
  if (cluster.container.empty()) return "";
  if (!cluster.model_cache.empty()) folders.emplace_back("$HF_HOME");
  std::string text = "container=(apptainer exec --nv";
  for (const std::string& each : folders) text += " --bind \"" + each + '"';
  return text + " \"" + cluster.container + "\")";
}

std::string server_prefix(const Submission& submission) {
  const Cluster& cluster = submission.cluster;
  if (cluster.server_container.empty() || submission.plan.backend != "server") return "";
  const std::string cache = cluster.model_cache.empty() ? "" : " --bind $HF_HOME";
  return " --set \"server.prefix=apptainer exec --nv" + cache + ' ' + cluster.server_container +
         '"';
}

/// The user's filters, each narrowed to the SKU, since a cell matches if any --only does.
std::string selection(const Options& options, const std::string& sku) {
  std::string text;
  for (const std::string& only : options.only)
    text += "--only " + analysis::shell_word(only + ",gpu=" + sku) + ' ';
  if (options.only.empty()) text = "--only gpu=" + sku + ' ';
  for (const std::string& skip : options.skip) text += "--skip " + analysis::shell_word(skip) + ' ';
  return text;
}

std::string key_of(const PlanLine& line) {
  constexpr std::size_t kDigits = 12;
  return line.cell->key.substr(0, kDigits);
}

/// Drains the first start of a job while its cell runs, the way that Slurm does: it sends USR1 to
/// this shell. The second request stops the cell at its next step.
constexpr const char* kSmokeLines =
    R"(# A smoke test: the first start is drained while its cell runs. A second request stops the cell.
if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
  until ls "$archive".d/*.run >/dev/null 2>&1 || ! kill -0 "$run" 2>/dev/null; do sleep 0.1; done
  for request in 1 2; do
    kill -0 "$run" 2>/dev/null || break
    echo "smoke: the cell has started and is drained, request $request"
    scancel --batch --signal=USR1 "$SLURM_JOB_ID" && sleep 0.5
  done
fi)";

std::string run_options(const Submission& submission, const SkuJob& job) {
  const Options& options = submission.options;
  std::string text =
      options.smoke ? "--cell " + key_of(job.cells.front()) + ' ' : selection(options, job.sku);
  text += "--backend " + submission.plan.backend;
  if (options.record) text += " --record " + std::string(sweep::to_text(*options.record));
  for (const std::string& each : options.set) text += " --set " + analysis::shell_word(each);
  text += server_prefix(submission);
  if (options.profiles_given)
    text += " --profiles " +
            analysis::shell_word(fs::absolute(options.profiles).lexically_normal().string());
  if (job.tier_gib > 0) text += " --node-memory-gib " + analysis::four_digits(job.tier_gib);
  if (!submission.cluster.fake_devices.empty()) text += " --fake-device \"$device\"";
  return text;
}

/// The GPU that each emulated node claims: one line of a `case` per node.
std::string fake_devices(const Cluster& cluster) {
  if (cluster.fake_devices.empty()) return "";
  std::string text = "# Nothing here is a GPU; each node claims one.\ncase $SLURMD_NODENAME in\n";
  for (const auto& [node, device] : cluster.fake_devices)
    text += "  " + node + ") device=" + analysis::shell_word(device) + " ;;\n";
  return text + "esac";
}

TemplateValues common_values(const Submission& submission) {
  const Options& options = submission.options;
  const bool in_image = !submission.cluster.container.empty();
  return {{"account", options.account.value_or("")},
          {"qos", options.qos.value_or(submission.cluster.qos)},
          {"kvsweep", in_image ? "kvsweep" : analysis::shell_word(options.program)},
          {"program", in_image ? R"("${container[@]}" "$kvsweep")" : R"("$kvsweep")"},
          {"model_cache", submission.cluster.model_cache},
          {"modules", submission.cluster.modules},
          {"scratch", submission.cluster.scratch},
          {"sweep", analysis::shell_word(
                        fs::absolute(options.arguments.front()).lexically_normal().string())},
          {"sweep_name", submission.plan.spec.name}};
}

TemplateValues sku_values(const Submission& submission, const SkuJob& job) {
  TemplateValues values = common_values(submission);
  const SubmitPaths& paths = submission.paths;
  const int tasks = job.gpus_per_node + 1;
  values["sku"] = job.sku;
  values["container"] = container(submission, {"${sweep%/*}", "${archive%/*}", "$TMPDIR"});
  values["summary"] = summary_of(submission, job);
  values["partition"] = job.needs_gpus ? job.on.partition : submission.cluster.merge_partition;
  values["gres"] = job.needs_gpus ? job.on.gres + ':' + std::to_string(job.gpus_per_node) : "";
  values["constraint"] = job.needs_gpus ? job.on.constraint : "";
  values["nodes"] = std::to_string(job.nodes);
  values["tasks_per_node"] = std::to_string(tasks);
  values["cpus_per_task"] =
      std::to_string(std::max(1, job.on.cores_per_gpu * job.gpus_per_node / tasks));
  values["memory_gib"] = std::to_string(job.memory_gib);
  values["time"] = slurm_time(job.time_min);
  values["signal_lead_s"] = std::to_string(submission.cluster.signal_lead_s);
  values["end_margin_s"] = std::to_string(submission.cluster.end_margin_s);
  values["archive"] = paths.of_sku(job.sku).string();
  values["merged"] = paths.archive.string();
  values["log"] = paths.of('.' + job.sku + ".%j.log").string();
  values["launcher"] = launcher(submission, job);
  values["run_options"] = run_options(submission, job);
  values["fake_devices"] = fake_devices(submission.cluster);
  values["smoke"] = submission.options.smoke ? kSmokeLines : "";
  return values;
}

}  // namespace

SubmitPaths::SubmitPaths(const fs::path& path) : archive(fs::absolute(path).lexically_normal()) {
  if (archive.extension() != ".h5")
    throw UsageError("--archive must name a file that ends in .h5, found \"" + path.string() + '"');
  // sbatch treats blanks, quotes and % specially; a folder without them needs no quoting.
  for (const char c : archive.string()) {
    if (std::string_view(" \t\n\"'\\%$`*?[](){}<>|&;#~!").find(c) != std::string_view::npos)
      throw UsageError("--archive " + archive.string() +
                       ": a batch script cannot name a path with the character '" + c + "'");
  }
}

fs::path SubmitPaths::of(const std::string& end) const {
  return archive.parent_path() / (archive.stem().string() + end);
}

BatchScript sku_script(const Submission& submission, const SkuJob& job) {
  return {submission.paths.of('.' + job.sku + ".sbatch"),
          fill_template(submission.options.scripts / "run.sbatch", sku_values(submission, job)),
          summary_of(submission, job)};
}

BatchScript merge_script(const Submission& submission, const std::vector<std::string>& skus) {
  const SubmitPaths& paths = submission.paths;
  TemplateValues values = common_values(submission);
  std::string parts;
  for (const std::string& sku : skus)
    parts += (parts.empty() ? "  " : " \\\n  ") + paths.of_sku(sku).string();
  values["parts"] = parts;
  values["container"] = container(submission, {"${archive%/*}"});
  values["partition"] = submission.cluster.merge_partition;
  values["archive"] = paths.archive.string();
  values["table"] = paths.of(".table.txt").string();
  values["log"] = paths.of(".merge.%j.log").string();
  const std::string summary =
      "merges what there is into " + paths.archive.string() + " and prints its table";
  return {paths.of(".merge.sbatch"),
          fill_template(submission.options.scripts / "merge.sbatch", values), summary};
}

}  // namespace driver
