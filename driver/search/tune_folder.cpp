#include "driver/search/tune_folder.hpp"

#include "analysis/text/new_file.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/search/child_runs.hpp"
#include "workers/profiles/profiles.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  analysis::write_file(path, [&](std::ostream& out) { out << text; });
}

/// The sweep with a point for each candidate at all values of the other axes.
std::string sweep_text(const sweep::SweepSpec& spec, std::span<const Candidate> candidates) {
  std::string text = spec.text + "\n# The candidates of kvsweep tune.\n[[include]]\npolicy = " +
                     list_of(candidates, [](const auto& each) { return '"' + each.name + '"'; });
  for (const sweep::Axis& axis : spec.axes)
    if (axis.name != "policy")
      text += '"' + axis.name + "\" = " + list_of(axis.values, [](const sweep::Param& each) {
                return sweep::to_text(each.value);
              });
  return text;
}

}  // namespace

void TuneFolder::write_sweep(std::span<const Candidate> candidates, const fs::path& from) const {
  const std::string text = sweep_text(spec_, candidates);
  const std::string archive = file("train.h5");
  if (fs::exists(archive) && open_archive(archive).spec_text() != text)
    throw UsageError(path_.string() +
                     " has the tuning of another sweep file, or of this one as it " +
                     "was: give another -o");
  const fs::path to = profiles();
  fs::create_directories(to);
  for (const char* name : {"gpus", "models", "policies", "published"})
    if (fs::exists(from / name))
      fs::copy(from / name, to / name,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const Candidate& each : candidates)
    write(to / "policies" / (each.name + ".toml"),
          policy_text(each.values, "A candidate of kvsweep tune."));
  write(sweep_file(), text);
}

std::string TuneFolder::policy_text(const sweep::ParamMap& values,
                                    const std::string& comment) const {
  sweep::ParamMap all;
  for (const auto& [key, param] : values)
    all[key.substr(std::string_view("policy.").size())] = param;
  all.merge(worker::load_policy_profile(profiles(), spec_.tune->policy));
  std::string text = "# " + comment + '\n';
  for (const auto& [key, param] : all) text += key + " = " + sweep::to_text(param.value) + '\n';
  return text;
}

void TuneFolder::write_candidates(std::span<const Candidate> candidates,
                                  std::span<const Entrant> entrants, const Scores& scores) const {
  std::string text = "policy";
  for (const sweep::TuneKey& key : spec_.tune->keys) text += ',' + key.key;
  text += ",seeds,ratio,low95,high95,out\n";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += candidates[i].name;
    for (const auto& key : spec_.tune->keys)
      text += ',' + analysis::csv_text(sweep::bare_text(candidates[i].values.at(key.key).value));
    const analysis::Ratio ratio = analysis::ratio_of(scores_of(scores, candidates[i].name),
                                                     scores_of(scores, spec_.tune->policy));
    text += ',' + std::to_string(ratio.repeats);
    for (const double figure : {ratio.value, ratio.interval.low, ratio.interval.high})
      text += ',' + analysis::exact_number(figure);
    text += ',' + analysis::csv_text(entrants[i + 1].why_out) + '\n';
  }
  write(file("candidates.csv"), text);
}

std::string TuneFolder::write_winner(const Candidate& winner, const std::string& comment) const {
  const std::string path = file(spec_.tune->policy + "-tuned.toml");
  write(path, policy_text(winner.values, comment));
  return path;
}

}  // namespace driver
