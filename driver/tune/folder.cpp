#include "driver/tune/folder.hpp"

#include "analysis/text/export_grid.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/options.hpp"
#include "workers/profiles/profiles.hpp"

namespace driver {
namespace fs = std::filesystem;
namespace {

void write(const fs::path& path, const std::string& text) {
  analysis::NewFile file(path);
  file.fill([&](std::ostream& out) { out << text; });
  file.commit();
}

std::string list_of(const std::vector<sweep::Param>& values) {
  std::vector<std::string> texts;
  for (const sweep::Param& each : values) texts.push_back(sweep::to_text(each.value));
  return "[" + sweep::joined(texts) + "]";
}

/// The sweep with a point for each candidate, at all values of the other axes.
std::string sweep_text(const sweep::SweepSpec& spec, std::span<const Candidate> candidates) {
  std::string text = spec.text + "\n# The candidates of kvsweep tune.\n[[include]]\npolicy = [";
  std::vector<std::string> names;
  for (const Candidate& each : candidates) names.push_back('"' + each.name + '"');
  text += sweep::joined(names) + "]\n";
  for (const sweep::Axis& axis : spec.axes)
    if (axis.name != "policy") text += '"' + axis.name + "\" = " + list_of(axis.values) + '\n';
  return text;
}

void copy_profiles(const fs::path& from, const fs::path& to) {
  for (const char* name : {"gpus", "models", "policies", "published"})
    if (fs::exists(from / name))
      fs::copy(from / name, to / name,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

}  // namespace

TuneFolder::TuneFolder(fs::path path, const sweep::SweepSpec& spec, const fs::path& profiles,
                       std::span<const Candidate> candidates)
    : path_(std::move(path)), sweep_file_(path_ / (spec.name + "-tune.toml")) {
  const std::string text = sweep_text(spec, candidates);
  if (fs::exists(path_ / "train.h5") && sweep::load_spec(sweep_file()).text != text)
    throw UsageError(path_.string() +
                     " has the tuning of another sweep file, or of this one as it " +
                     "was: give another -o");
  fs::create_directories(path_ / "profiles");
  copy_profiles(profiles, path_ / "profiles");
  for (const Candidate& each : candidates)
    write(path_ / "profiles/policies" / (each.name + ".toml"),
          policy_text(spec.tune->policy, each.values, "A candidate of kvsweep tune."));
  write(sweep_file_, text);
}

std::string TuneFolder::policy_text(const std::string& policy, const sweep::ParamMap& values,
                                    const std::string& comment) const {
  sweep::ParamMap all;
  for (const auto& [key, param] : values)
    all[key.substr(std::string_view("policy.").size())] = param;
  all.merge(worker::load_policy_profile(path_ / "profiles", policy));
  std::string text = "# " + comment + '\n';
  for (const auto& [key, param] : all) text += key + " = " + sweep::to_text(param.value) + '\n';
  return text;
}

void TuneFolder::write_candidates(const sweep::TuneSpec& tune,
                                  std::span<const Candidate> candidates,
                                  std::span<const Entrant> entrants, const Scores& scores) const {
  std::string text = "policy";
  for (const sweep::TuneKey& key : tune.keys) text += ',' + key.key;
  text += ",seeds,ratio,low95,high95,out\n";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += candidates[i].name;
    for (const auto& key : tune.keys)
      text += ',' + analysis::csv_text(sweep::bare_text(candidates[i].values.at(key.key).value));
    const auto mine = scores.find(candidates[i].name), untuned = scores.find(tune.policy);
    analysis::Ratio ratio;
    if (mine != scores.end() && untuned != scores.end())
      ratio = analysis::ratio_of(mine->second, untuned->second);
    text += ',' + std::to_string(ratio.repeats);
    for (const double figure : {ratio.value, ratio.interval.low, ratio.interval.high})
      text += ',' + analysis::exact_number(figure);
    text += ',' + analysis::csv_text(entrants[i + 1].why_out) + '\n';
  }
  write(path_ / "candidates.csv", text);
}

void TuneFolder::write_asked(const std::string& archive, const std::string& only) const {
  write(path_ / (archive + ".asked"), only + '\n');
}

std::string TuneFolder::write_winner(const sweep::TuneSpec& tune, const Candidate& winner,
                                     const std::string& comment) const {
  const fs::path path = path_ / (tune.policy + "-tuned.toml");
  write(path, policy_text(tune.policy, winner.values, comment));
  return path.string();
}

}  // namespace driver
