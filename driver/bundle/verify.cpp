#include "driver/bundle/commands.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/bound/restored.hpp"
#include "driver/bundle/expected.hpp"
#include "driver/bundle/manifest.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/version.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/check.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/engine/base/clock.hpp"

namespace driver {
namespace {

enum class Outcome { same, note, different, damaged };

/// What one step of verify() found.
struct Finding {
  std::string step;  // "files", "archives", "figures", "claims", "cells"
  Outcome outcome = Outcome::same;
  std::string text;
};

struct VerifyLimits {
  double minutes = 10;           // for running cells again
  std::vector<std::string> set;  // files that cells read, as --set workload.path=FILE
};

namespace fs = std::filesystem;
using Findings = std::vector<Finding>;

void check_program(const Manifest& manifest, Findings& findings) {
  const std::string ours = std::string(kVersion) + " (" + kCommit + ')';
  if (manifest.program == ours) return findings.push_back({"program", Outcome::same, ours});
  findings.push_back({"program", Outcome::note,
                      "packed by " + manifest.program + ", verified by " + ours +
                          ": cells whose engine has changed since may differ"});
}

void check_files(const fs::path& bundle, const Manifest& manifest, Findings& findings) {
  const auto there = files_of(bundle);
  const std::size_t before = findings.size();
  for (const auto& [name, digest] : manifest.files) {
    const auto found = there.find(name);
    if (found == there.end())
      findings.push_back({"files", Outcome::damaged, name + " is missing"});
    else if (found->second != digest)
      findings.push_back({"files", Outcome::damaged, name + " is not what was packed"});
  }
  for (const auto& [name, digest] : there)
    if (!manifest.files.contains(name))
      findings.push_back({"files", Outcome::damaged, name + " was not packed"});
  if (findings.size() == before)
    findings.push_back(
        {"files", Outcome::same, std::to_string(manifest.files.size()) + " files as packed"});
}

void check_archives(const fs::path& bundle, Findings& findings) {
  const std::vector<fs::path> archives = archives_of(bundle);
  const std::size_t before = findings.size();
  for (const fs::path& each : archives)
    for (const std::string& problem : sweep::check_archive(each.string()))
      findings.push_back({"archives", Outcome::damaged, each.filename().string() + ": " + problem});
  if (findings.size() == before)
    findings.push_back({"archives", Outcome::same,
                        std::to_string(archives.size()) + " archives hold what cells recorded"});
}

void check_outputs(const fs::path& bundle, double tolerance, Findings& findings) {
  for (const auto& [name, found] : outputs_of(bundle)) {
    const std::string step = name == "claims.csv" ? "claims" : "figures";
    const std::string difference =
        csv_difference(found, sweep::file_bytes((bundle / "expected" / name).string()), tolerance);
    findings.push_back({step, difference.empty() ? Outcome::same : Outcome::different,
                        "expected/" + name + (difference.empty() ? "" : ": " + difference)});
  }
}

/// The first figure that another run of the cell gives otherwise; empty for none.
std::string figure_difference(const sweep::CellRecord& archived, const sweep::CellResult& again) {
  std::map<std::string, double> now;
  for (const sweep::Figure& each : again.figures) now[each.name] = each.value;
  for (const sweep::Figure& each : archived.figures) {
    const auto found = now.find(each.name);
    if (each.is_volatile || found == now.end()) continue;
    const std::string was = analysis::exact_number(each.value);
    const std::string is = analysis::exact_number(found->second);
    if (was != is) return each.name.text() + " is " + is + ", archived " + was;
  }
  return "";
}

/// Runs cells of the simulator again, in an order drawn from a fixed seed.
class Repeater {
 public:
  Repeater(const fs::path& bundle, const VerifyLimits& limits)
      : bundle_(bundle), limits_(limits), profiles_(bundle / "sweeps") {}

  void run(Findings& findings) {
    std::vector<sweep::ArchiveReader> readers;
    for (const fs::path& each : archives_of(bundle_)) readers.emplace_back(each.string());
    std::vector<const sweep::CellRecord*> cells;
    for (const sweep::ArchiveReader& reader : readers)
      for (const sweep::CellRecord& cell : reader.cells()) {
        if (cell.status != sweep::CellStatus::ok) continue;
        if (cell.backend == "sim")
          cells.push_back(&cell);
        else
          ++others_["of backend " + cell.backend +
                    ", which needs the hardware that they were measured on"];
      }
    std::shuffle(cells.begin(), cells.end(), std::mt19937(1));
    for (const sweep::CellRecord* cell : cells) repeat(*cell, findings);
    findings.push_back({"cells", Outcome::same,
                        std::to_string(same_) + " of " + std::to_string(cells.size()) +
                            " simulated cells run again, with equal figures"});
    if (left_ > 0)
      findings.push_back({"cells", Outcome::note,
                          std::to_string(left_) + " simulated cells left for lack of time"});
    for (const auto& [why, count] : others_)
      findings.push_back(
          {"cells", Outcome::note, std::to_string(count) + " not run again: " + why});
  }

 private:
  void repeat(const sweep::CellRecord& cell, Findings& findings) {
    if (engine::to_seconds(clock_.now()) > 60 * limits_.minutes) {
      ++left_;
      return;
    }
    try {
      const analysis::ConfiguredCell configured(cell);
      const worker::ExperimentConfig config = restored(configured, limits_.set, profiles_);
      const std::string difference = figure_difference(cell, run_experiment(config, workloads_));
      if (difference.empty())
        ++same_;
      else
        findings.push_back({"cells", Outcome::different, cell.label + ": " + difference});
    } catch (const NotRestored& why) {
      ++others_[why.what()];
    } catch (const sweep::SpecError& why) {
      ++others_[why.what()];
    }
  }

  const fs::path& bundle_;
  const VerifyLimits& limits_;
  worker::Profiles profiles_;
  worker::WorkloadCache workloads_;
  engine::WallClock clock_;
  int same_ = 0, left_ = 0;
  std::map<std::string, int> others_;  // why cells are not run again
};

bool is_damaged(const Findings& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& each) { return each.outcome == Outcome::damaged; });
}

/// Judges a bundle of pack() again. Damage ends it, since nothing behind it would count. Throws
/// sweep::SpecError for a folder that is no bundle.
Findings verify(const fs::path& bundle, const VerifyLimits& limits) {
  const Manifest manifest = read_manifest(bundle);
  Findings findings;
  check_program(manifest, findings);
  check_files(bundle, manifest, findings);
  if (is_damaged(findings)) return findings;
  check_archives(bundle, findings);
  if (is_damaged(findings)) return findings;
  check_outputs(bundle, manifest.tolerance, findings);
  Repeater(bundle, limits).run(findings);
  return findings;
}

const char* text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
      return "ok";
    case Outcome::note:
      return "note";
    case Outcome::different:
      return "DIFFERS";
    case Outcome::damaged:
      return "DAMAGED";
  }
  return "";
}

}  // namespace

int run_verify(const Options& options) {
  VerifyLimits limits;
  limits.set = options.set;
  limits.minutes = options.minutes.value_or(limits.minutes);
  const std::vector<Finding> findings = verify(options.arguments.front(), limits);
  analysis::TextTable table;
  for (const char* name : {"step", "", "what"})
    table.add_column(name, "", analysis::TextTable::Align::left);
  const auto has = [&](Outcome outcome) {
    return std::ranges::any_of(findings,
                               [&](const Finding& each) { return each.outcome == outcome; });
  };
  for (const Finding& each : findings) table.add_row({each.step, text_of(each.outcome), each.text});
  table.print(std::cout);
  if (has(Outcome::damaged)) return kBadArchive;
  return has(Outcome::different) ? kSomeCellsFailed : kOk;
}

}  // namespace driver
