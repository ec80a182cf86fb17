#include "driver/submit/cluster.hpp"

#include <ranges>
#include <regex>

#include "workers/profiles/profiles.hpp"

namespace driver {
namespace {

/// Whether the text has no line break or other control character. Text after a break would become
/// a line of the script.
bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

void check_plain(const std::string& option, const std::optional<std::string>& word) {
  if (!word || word->empty() || sweep::is_plain_word(*word)) return;
  throw UsageError(option + " must consist of letters, digits, '.', '_' and '-', found " +
                   sweep::to_text(*word));
}

void check_line(const std::string& option, const std::string& text) {
  if (is_one_line(text)) return;
  throw UsageError(option + ' ' + sweep::to_text(text) +
                   ": a batch script cannot carry a line break or another control character");
}

namespace fs = std::filesystem;
using sweep::ParamReader;

const std::string kSku = "sku.", kQos = "qos.", kFakeDevices = "fake_devices.";

int count_of(ParamReader& in, const std::string& key, int min, int max) {
  return static_cast<int>(in.integer(key, min, max));
}

/// A value for an #SBATCH line, where Slurm treats blanks, quotes, backslashes and # specially.
std::string slurm_words(ParamReader& in, const std::string& key) {
  const std::string text = in.text(key);
  if (text.find_first_of(" \"'\\#") != std::string::npos)
    in.fail(key, "must have no blank, quote, backslash or #");
  return text;
}

/// A path, or nothing. It is one word of a command and may name variables, "${SCRATCH}/models".
std::string path_word(ParamReader& in, const std::string& key) {
  const std::string text = in.text(key, "");
  if (text.find_first_of(" \"'\\`;&|<>()*?") != std::string::npos)
    in.fail(key, "must be a path without blanks, quotes and other characters that a shell reads");
  return text;
}

/// The table names under a table of tables, sorted: "sku.a100-40gb.gres" -> "a100-40gb".
std::set<std::string> names_under(const sweep::ParamMap& params, const std::string& table) {
  std::set<std::string> names;
  for (auto at = params.lower_bound(table); at != params.end() && at->first.starts_with(table);
       ++at) {
    const std::size_t end = at->first.rfind('.');
    names.insert(at->first.substr(table.size(), std::max(end, table.size()) - table.size()));
  }
  return names;
}

/// Keys and values are copied into scripts unquoted, so they must be safe there.
void check_lines(const ParamReader& in, const sweep::ParamMap& params) {
  for (const auto& [key, param] : params) {
    if (!sweep::is_plain_word(key))
      throw sweep::SpecError(sweep::to_text(param.where) + ": the key " + sweep::to_text(key) +
                             " must consist of letters, digits, '.', '_' and '-'");
    const auto* text = std::get_if<std::string>(&param.value);
    if (text != nullptr && !is_one_line(*text))
      in.fail(key, "must have no line break or other control character");
  }
}

SkuNodes read_sku(ParamReader& in, const std::string& sku) {
  const std::string at = kSku + sku + '.';
  SkuNodes nodes;
  nodes.partition = slurm_words(in, at + "partition");
  nodes.gres = slurm_words(in, at + "gres");
  nodes.constraint = slurm_words(in, at + "constraint");
  nodes.gpus_per_node = count_of(in, at + "gpus_per_node", 1, 64);
  nodes.cores_per_gpu = count_of(in, at + "cores_per_gpu", 1, 1024);
  nodes.node_memory_gib = in.number(at + "node_memory_gib", 0, 1, 1 << 20);
  for (const auto& [key, asked] :
       {std::pair("gres", nodes.gres), std::pair("constraint", nodes.constraint)})
    if (asked.find_first_of("|,/") != std::string::npos)
      in.fail(at + key, "must name one kind of card, without '|', ',' or '/'");
  if (!std::regex_match(nodes.gres, std::regex("(?!.*:[0-9]+$)gpu(:.+)?")))
    in.fail(at + "gres", "must be gpu or gpu:TYPE, without a number");
  return nodes;
}

void read_job_keys(ParamReader& in, Cluster& cluster) {
  constexpr int kDay = 24 * 3600;
  cluster.account_required = in.boolean("cluster.account_required");
  cluster.qos = slurm_words(in, "cluster.qos");
  cluster.max_hours = in.number("cluster.max_hours", 0.01, 24 * 365);
  cluster.signal_lead_s = count_of(in, "cluster.signal_lead_s", 1, kDay);
  cluster.end_margin_s = count_of(in, "cluster.end_margin_s", 0, kDay);
  cluster.staging_gib = in.number("cluster.staging_gib", 0, 1 << 20);
  cluster.modules = in.text("cluster.modules");
  cluster.scratch = in.text("cluster.scratch");
  cluster.mpirun = in.text("cluster.mpirun");
  cluster.srun = in.text("cluster.srun");
  cluster.merge_partition = slurm_words(in, "cluster.merge_partition");
  cluster.container = path_word(in, "cluster.container");
  cluster.server_container = path_word(in, "cluster.server_container");
  cluster.model_cache = path_word(in, "cluster.model_cache");
}

void read_tables(ParamReader& in, Cluster& cluster) {
  for (const std::string& qos : names_under(cluster.params, kQos))
    cluster.qos_hours[qos] = in.number(kQos + qos + ".max_hours", 0.01, 24 * 365);
  for (const std::string& sku : names_under(cluster.params, kSku))
    cluster.skus[sku] = read_sku(in, sku);
  for (auto at = cluster.params.lower_bound(kFakeDevices);
       at != cluster.params.end() && at->first.starts_with(kFakeDevices); ++at) {
    cluster.fake_devices.emplace_back(at->first.substr(kFakeDevices.size()),
                                      in.text(at->first, ""));
  }
}

/// Whether a request for `a` accepts every node that a request for `b` accepts.
bool covers(const SkuNodes& a, const SkuNodes& b) {
  return a.partition == b.partition && (a.gres == b.gres || a.gres == "gpu") &&
         (a.constraint == b.constraint || a.constraint.empty());
}

/// A request that covers another SKU's could get either card, which defeats pinning.
void check_skus_differ(const ParamReader& in, const Cluster& cluster) {
  for (const auto& [sku, nodes] : cluster.skus) {
    for (const auto& [other, others] : cluster.skus) {
      const bool both = covers(nodes, others) && covers(others, nodes);
      if (sku == other || !covers(nodes, others) || (both && sku < other)) continue;
      in.fail(kSku + sku + ".constraint",
              "must tell its nodes from those of " + kSku + other + " (" +
                  sweep::to_text(in.where(kSku + other + ".constraint")) + "), which " +
                  (both ? "has the same partition, gres and constraint"
                        : "asks for some of the same nodes"));
    }
  }
}

void check_agreement(const ParamReader& in, const Cluster& cluster) {
  if (cluster.end_margin_s >= cluster.signal_lead_s)
    in.fail("cluster.end_margin_s", "must be less than cluster.signal_lead_s (" +
                                        std::to_string(cluster.signal_lead_s) + ", " +
                                        sweep::to_text(in.where("cluster.signal_lead_s")) + ")");
  if (!cluster.qos.empty() && !cluster.qos_hours.empty() &&
      !cluster.qos_hours.contains(cluster.qos))
    in.fail("cluster.qos", "must be one of the [qos.NAME] tables of this file");
  if (!cluster.container.empty() && !cluster.server_container.empty())
    in.fail("cluster.server_container",
            "does not go together with cluster.container, in whose image no other would start: "
            "give one of them");
  check_skus_differ(in, cluster);
}

fs::path cluster_file(const fs::path& folder, const std::string& name) {
  if (name.ends_with(".toml")) return name;
  const std::vector<std::string> known = worker::profile_names(folder);
  if (std::ranges::count(known, name) > 0) return folder / (name + ".toml");
  throw sweep::SpecError("unknown cluster \"" + name + '"' + sweep::suggestion(name, known) + ", " +
                         folder.string() + " has: " + sweep::joined(known) +
                         "; a profile of your own is given by its path, FILE.toml");
}

}  // namespace

void check_script_words(const Options& options) {
  check_plain("--account", options.account);
  check_plain("--qos", options.qos);
  check_line("the sweep", options.arguments.front());
  check_line("--archive", options.archive ? options.archive->string() : "");
  check_line("--profiles", options.profiles.string());
  for (const std::string& only : options.only) check_line("--only", only);
  for (const std::string& skip : options.skip) check_line("--skip", skip);
  for (const std::string& set : options.set) check_line("--set", set);
}

const SkuNodes& Cluster::nodes_of(const std::string& sku) const {
  const auto found = skus.find(sku);
  if (found != skus.end()) return found->second;
  const auto names = std::views::keys(skus);
  const std::vector<std::string> known(names.begin(), names.end());
  throw sweep::SpecError(file + ": there is no table [sku." + sku + ']' +
                         sweep::suggestion(sku, known) +
                         "; the cluster has: " + sweep::joined(known));
}

std::string Cluster::place_of(const std::string& key) const {
  const auto found = params.find(key);
  return (found == params.end() ? file : sweep::to_text(found->second.where)) + ": " + key;
}

Cluster load_cluster(const fs::path& folder, const std::string& name) {
  const fs::path file = cluster_file(folder, name);
  Cluster cluster;
  cluster.name = file.stem().string();
  cluster.file = file.string();
  cluster.params = sweep::load_flat_toml(cluster.file);
  ParamReader in(cluster.params, cluster.file);
  check_lines(in, cluster.params);
  read_job_keys(in, cluster);
  read_tables(in, cluster);
  if (cluster.skus.empty())
    throw sweep::SpecError(cluster.file + ": names no GPU in a table [sku.NAME]; copy " +
                           (folder / "generic.toml").string() + ", and change it");
  in.reject_unknown();
  check_agreement(in, cluster);
  return cluster;
}

}  // namespace driver
