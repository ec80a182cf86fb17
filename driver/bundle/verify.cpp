#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <random>

#include "analysis/text/text_table.hpp"
#include "driver/bound/restored.hpp"
#include "driver/bundle/commands.hpp"
#include "driver/bundle/manifest.hpp"
#include "driver/command_line/failure.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/check.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/engine/base/clock.hpp"

namespace driver {
namespace {

constexpr const char *kSame = "ok", *kNote = "note", *kDiffers = "DIFFERS", *kDamaged = "DAMAGED";

/// What the steps of verify find, a line each.
struct Findings {
  struct Line {
    const char *step, *outcome;
    std::string text;
  };
  std::vector<Line> lines;

  void add(const char* step, const char* outcome, const std::string& text) {
    lines.push_back({step, outcome, text});
  }
  bool has(std::string_view outcome) const {
    return std::ranges::count(lines, outcome, &Line::outcome) > 0;
  }
};

namespace fs = std::filesystem;

void check_program(const Manifest& manifest, Findings& findings) {
  const bool same = manifest.program == this_version();
  findings.add("program", same ? kSame : kNote,
               same ? this_version()
                    : "packed by " + manifest.program + ", verified by " + this_version() +
                          ": cells whose engine has changed since may differ");
}

void check_files(const fs::path& bundle, const Manifest& manifest, Findings& findings) {
  std::map<std::string, std::string> there = files_of(bundle);
  for (const auto& [name, digest] : manifest.files) {
    const auto found = there.extract(name);
    if (found.empty())
      findings.add("files", kDamaged, name + " is missing");
    else if (found.mapped() != digest)
      findings.add("files", kDamaged, name + " is not what was packed");
  }
  for (const auto& [name, digest] : there)
    findings.add("files", kDamaged, name + " was not packed");
  if (!findings.has(kDamaged))
    findings.add("files", kSame, std::to_string(manifest.files.size()) + " files as packed");
}

void check_archives(const fs::path& bundle, Findings& findings) {
  const std::vector<std::string> archives = archives_of(bundle);
  for (const std::string& each : archives)
    for (const std::string& problem : sweep::check_archive(each))
      findings.add("archives", kDamaged, fs::path(each).filename().string() + ": " + problem);
  if (!findings.has(kDamaged))
    findings.add("archives", kSame,
                 std::to_string(archives.size()) + " archives hold what cells recorded");
}

/// Whether two fields are equal; numbers may be off by 1e-9 of them, since libraries round.
bool alike(const std::string& a, const std::string& b) {
  constexpr double kTolerance = 1e-9;
  const auto is_number = [](const std::string& text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  double x = 0, y = 0;
  return a == b || (is_number(a, x) && is_number(b, y) &&
                    std::abs(x - y) <= kTolerance * std::max(std::abs(x), std::abs(y)));
}

/// The first line in which two tables in CSV differ; empty for none.
std::string csv_difference(const std::string& found, const std::string& expected) {
  const auto ours = sweep::split(found, "\n"), theirs = sweep::split(expected, "\n");
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string a = i < ours.size() ? ours[i] : "", b = i < theirs.size() ? theirs[i] : "";
    if (!std::ranges::equal(sweep::split(a, ","), sweep::split(b, ","), alike))
      return "line " + std::to_string(i + 1) + ": " + a + ", expected " + b;
  }
  return "";
}

void check_claims(const fs::path& bundle, Findings& findings) {
  const std::string name = "expected/claims.csv";
  const std::string difference =
      csv_difference(claims_of(bundle), sweep::file_bytes((bundle / name).string()));
  findings.add("claims", difference.empty() ? kSame : kDiffers,
               name + (difference.empty() ? "" : ": " + difference));
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
  /// `set`: files that cells read, as --set workload.path=FILE.
  Repeater(const fs::path& bundle, double minutes, const std::vector<std::string>& set)
      : minutes_(minutes), set_(set), profiles_(bundle / "sweeps") {
    for (const std::string& each : archives_of(bundle)) readers_.emplace_back(each);
  }

  void run(Findings& findings) {
    std::vector<const sweep::CellRecord*> cells;
    for (const sweep::ArchiveReader& reader : readers_)
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
    findings.add("cells", kSame,
                 std::to_string(same_) + " of " + std::to_string(cells.size()) +
                     " simulated cells run again, with equal figures");
    if (left_ > 0)
      findings.add("cells", kNote,
                   std::to_string(left_) + " simulated cells left for lack of time");
    for (const auto& [why, count] : others_)
      findings.add("cells", kNote, std::to_string(count) + " not run again: " + why);
  }

 private:
  void repeat(const sweep::CellRecord& cell, Findings& findings) {
    if (engine::to_seconds(clock_.now()) > 60 * minutes_) {
      ++left_;
      return;
    }
    try {
      const worker::ExperimentConfig config =
          restored(analysis::ConfiguredCell(cell), set_, profiles_);
      const std::string difference = figure_difference(cell, run_experiment(config, workloads_));
      if (difference.empty())
        ++same_;
      else
        findings.add("cells", kDiffers, cell.label + ": " + difference);
    } catch (const NotRestored& why) {
      ++others_[why.what()];
    } catch (const sweep::SpecError& why) {
      ++others_[why.what()];
    }
  }

  double minutes_;
  const std::vector<std::string>& set_;
  worker::Profiles profiles_;
  std::vector<sweep::ArchiveReader> readers_;
  worker::WorkloadCache workloads_;
  engine::WallClock clock_;
  int same_ = 0, left_ = 0;
  std::map<std::string, int> others_;  // why cells are not run again
};

/// Damage ends it, since nothing behind it would count. Throws sweep::SpecError for a folder that
/// is no bundle.
Findings verify(const fs::path& bundle, double minutes, const std::vector<std::string>& set) {
  const Manifest manifest = read_manifest(bundle);
  Findings findings;
  check_program(manifest, findings);
  check_files(bundle, manifest, findings);
  if (!findings.has(kDamaged)) check_archives(bundle, findings);
  if (findings.has(kDamaged)) return findings;
  check_claims(bundle, findings);
  Repeater(bundle, minutes, set).run(findings);
  return findings;
}

}  // namespace

int run_verify(const Options& options) {
  const Findings findings =
      verify(options.arguments.front(), options.minutes.value_or(10), options.set);
  analysis::Grid grid{{{"step", "", false}, {"", "", false}, {"what", "", false}}, {}};
  for (const Findings::Line& each : findings.lines)
    grid.rows.push_back({each.step, each.outcome, each.text});
  print_text(grid, std::cout);
  if (findings.has(kDamaged)) return kBadArchive;
  return findings.has(kDiffers) ? kSomeCellsFailed : kOk;
}

}  // namespace driver
