// A bundle: results as a folder that another machine judges again.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "analysis/claims/claims.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/restored.hpp"
#include "driver/version.hpp"
#include "sweeps/definition/input_file.hpp"
#include "sweeps/definition/params.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/engine/base/clock.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// The file manifest.toml of a bundle: which files it has, and which program made it.
struct Manifest {
  static constexpr int kSchema = 1;
  std::string program;                       // "1.0.0 (commit)"
  std::map<std::string, std::string> files;  // path below the bundle to its SHA-256
};

constexpr const char* kManifestFile = "manifest.toml";

/// The regular files below a folder, without its manifest, sorted, with '/' between folders.
std::map<std::string, std::string> files_of(const fs::path& bundle) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(bundle)) {
    const std::string name = entry.path().lexically_relative(bundle).generic_string();
    if (entry.is_regular_file() && name != kManifestFile)
      files[name] = sweep::sha256_of_file(entry.path().string());
  }
  return files;
}

std::string to_toml(const Manifest& manifest) {
  std::string text = "# What kvsweep verify checks this folder by.\nschema = " +
                     std::to_string(Manifest::kSchema) + "\nprogram = \"" + manifest.program +
                     "\"\n\n[files]  # SHA-256\n";
  for (const auto& [name, digest] : manifest.files)
    text += '"' + name + "\" = \"" + digest + "\"\n";
  return text;
}

/// Throws sweep::SpecError for a file that is no manifest, or one of another schema.
Manifest read_manifest(const fs::path& bundle) {
  const std::string file = (bundle / kManifestFile).string();
  const sweep::ParamMap params = sweep::load_flat_toml(file);
  sweep::ParamReader in(params, file);
  if (in.integer("schema", 0, 1 << 20) != Manifest::kSchema)
    in.fail("schema", "must be " + std::to_string(Manifest::kSchema) +
                          ": the bundle is of another version of kvsweep");
  Manifest manifest;
  manifest.program = in.text("program");
  in.number("tolerance", 0, 0, 1);  // of earlier programs
  constexpr std::string_view kFiles = "files.";
  for (const auto& [key, param] : params) {
    if (!key.starts_with(kFiles)) continue;
    const fs::path name = key.substr(kFiles.size());
    if (name.is_absolute() || name != name.lexically_normal() || *name.begin() == "..")
      in.fail(key, "must name a file below the bundle's folder");
    const std::string digest = in.text(key, "");
    if (!sweep::is_sha256(digest)) in.fail(key, "must be a SHA-256 in hex");
    manifest.files[name.generic_string()] = digest;
  }
  in.reject_unknown();
  if (manifest.files.empty()) throw sweep::SpecError(file + ": names no files");
  return manifest;
}

std::vector<std::string> archives_of(const fs::path& bundle) {
  std::vector<std::string> archives;
  for (const fs::directory_entry& entry : fs::directory_iterator(bundle / "archives"))
    if (entry.path().extension() == ".h5") archives.push_back(entry.path().string());
  std::ranges::sort(archives);
  return archives;
}

/// The claims judged by all archives of a bundle, as CSV. pack stores it as expected/claims.csv.
std::string claims_of(const fs::path& bundle) {
  std::ostringstream text;
  print_claims(analysis::run_claims(archives_of(bundle), "", bundle / "sweeps"),
               analysis::GridFormat::csv, text);
  return text.str();
}

/// The folders of sweeps/ by which results are bound and judged.
constexpr const char* kJudgedBy[] = {"gpus", "models", "policies", "claims", "published"};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  sweep::FileOps().write(file.string(), text);
}

void copy_archive(const std::string& path, const fs::path& bundle) {
  const std::vector<std::string> problems = sweep::check_archive(path);
  if (!problems.empty()) throw UsageError(path + ": " + problems.front());
  const sweep::ArchiveReader reader(path);
  if (reader.shards() > 0)
    throw UsageError(path + " has " + std::to_string(reader.shards()) +
                     " results that are not merged yet: let kvsweep run end first");
  const fs::path name = fs::path(path).filename(), to = bundle / "archives" / name;
  fs::create_directories(to.parent_path());
  if (fs::exists(to)) throw UsageError("two archives are named " + name.string());
  fs::copy_file(path, to);
  write(bundle / "sweeps/experiments" / name.stem().concat(".toml"), reader.spec_text());
}

constexpr const char* kReadme = R"(# Results, to be judged again

    kvsweep verify .        # fifteen minutes at most, without a GPU

`verify` checks every digest and archive, judges the claims of `expected/claims.csv` again, and runs
cells of the simulator again, as many as its time allows. It says which cells would need a GPU.
Each archive of `archives/` has the commands that made it in `/provenance`.
)";

void fill(const std::vector<std::string>& archives, const fs::path& sweeps,
          const fs::path& bundle) {
  for (const std::string& each : archives) copy_archive(each, bundle);
  for (const char* folder : kJudgedBy)
    if (fs::exists(sweeps / folder))
      fs::copy(sweeps / folder, bundle / "sweeps" / folder, fs::copy_options::recursive);
  write(bundle / "expected/claims.csv", claims_of(bundle));
  write(bundle / "README.md", kReadme);
  write(bundle / kManifestFile, to_toml({kProgram, files_of(bundle)}));
}

constexpr std::string_view kFine = "ok", kNote = "note", kDiffers = "DIFFERS", kDamaged = "DAMAGED";

/// Says what the steps find, a line each.
struct Findings {
  bool differs = false, damaged = false;

  void say(const char* step, std::string_view outcome, const std::string& text) {
    std::cout << step << ": " << outcome << ": " << analysis::terminal_text(text) << std::endl;
    differs = differs || outcome == kDiffers;
    damaged = damaged || outcome == kDamaged;
  }
};

void check_files(const fs::path& bundle, const Manifest& manifest, Findings& findings) {
  std::map<std::string, std::string> there = files_of(bundle);
  for (const auto& [name, digest] : manifest.files) {
    const auto found = there.extract(name);
    if (found.empty())
      findings.say("files", kDamaged, name + " is missing");
    else if (found.mapped() != digest)
      findings.say("files", kDamaged, name + " is not what was packed");
  }
  for (const auto& [name, digest] : there)
    findings.say("files", kDamaged, name + " was not packed");
  if (!findings.damaged)
    findings.say("files", kFine, std::to_string(manifest.files.size()) + " files as packed");
}

void check_archives(const fs::path& bundle, Findings& findings) {
  const std::vector<std::string> archives = archives_of(bundle);
  for (const std::string& each : archives)
    for (const std::string& problem : sweep::check_archive(each))
      findings.say("archives", kDamaged, fs::path(each).filename().string() + ": " + problem);
  if (!findings.damaged)
    findings.say("archives", kFine,
                 std::to_string(archives.size()) + " archives hold what cells recorded");
}

/// Whether two fields are equal, numbers to a relative 1e-9, since libraries round differently.
bool alike(const std::string& a, const std::string& b) {
  constexpr double kTolerance = 1e-9;
  const auto x = sweep::number_from(a), y = sweep::number_from(b);
  return a == b ||
         (x && y && std::abs(*x - *y) <= kTolerance * std::max(std::abs(*x), std::abs(*y)));
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
  findings.say("claims", difference.empty() ? kFine : kDiffers,
               difference.empty() ? name : name + ": " + difference);
}

/// The first figure that another run of the cell gives otherwise; empty for none.
std::string figure_difference(const sweep::CellRecord& archived, const sweep::CellResult& again) {
  for (const sweep::Figure& each : archived.figures) {
    const sweep::Figure* found = sweep::find_named(again.figures, each.name);
    if (each.is_volatile || found == nullptr) continue;
    const std::string was = analysis::exact_number(each.value);
    const std::string is = analysis::exact_number(found->value);
    if (was != is) return each.name.text() + " is " + is + ", archived " + was;
  }
  return "";
}

/// The results of the simulator, in an order drawn from a fixed seed; counts in `others` why other
/// results are not run again.
std::vector<const sweep::CellRecord*> simulated_cells(
    const std::vector<sweep::ArchiveReader>& readers, std::map<std::string, int>& others) {
  std::vector<const sweep::CellRecord*> cells;
  for (const sweep::ArchiveReader& reader : readers)
    for (const sweep::CellRecord& cell : reader.cells()) {
      if (cell.status != sweep::CellStatus::ok) continue;
      if (cell.backend == "sim")
        cells.push_back(&cell);
      else
        ++others["of backend " + cell.backend +
                 ", which needs the hardware that they were measured on"];
    }
  std::shuffle(cells.begin(), cells.end(), std::mt19937(1));
  return cells;
}

/// Runs cells of the simulator again while there is time. `set`: files that cells read, as --set
/// workload.path=FILE.
void run_again(const fs::path& bundle, double minutes, const std::vector<std::string>& set,
               Findings& findings) {
  const engine::WallClock clock;
  std::vector<sweep::ArchiveReader> readers;
  for (const std::string& each : archives_of(bundle)) readers.emplace_back(each);
  std::map<std::string, int> others;
  const std::vector<const sweep::CellRecord*> cells = simulated_cells(readers, others);
  worker::Profiles profiles(bundle / "sweeps");
  worker::WorkloadCache workloads;
  int same = 0, left = 0;
  for (const sweep::CellRecord* cell : cells) {
    if (engine::to_seconds(clock.now()) > 60 * minutes) {
      ++left;
      continue;
    }
    try {
      const auto config = restored(analysis::ConfiguredCell(*cell), set, profiles);
      const std::string difference = figure_difference(*cell, run_experiment(config, workloads));
      same += difference.empty() ? 1 : 0;
      if (!difference.empty()) findings.say("cells", kDiffers, cell->label + ": " + difference);
    } catch (const sweep::SpecError& why) {
      ++others[why.what()];
    }
  }
  findings.say("cells", kFine,
               std::to_string(same) + " of " + std::to_string(cells.size()) +
                   " simulated cells run again, with equal figures");
  if (left > 0)
    findings.say("cells", kNote, std::to_string(left) + " simulated cells left for lack of time");
  for (const auto& [why, count] : others)
    findings.say("cells", kNote, std::to_string(count) + " not run again: " + why);
}

}  // namespace

int pack(const Options& options) {
  if (!options.output) throw UsageError("pack needs -o DIR, the folder to write");
  const fs::path bundle = *options.output, partial = bundle.string() + ".partial";
  if (fs::exists(fs::symlink_status(bundle))) throw UsageError(bundle.string() + " exists already");
  fs::remove_all(partial);
  try {
    using_files([&] { fill(options.arguments, options.profiles, partial); });
    fs::rename(partial, bundle);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  std::cout << "packed " << options.arguments.size() << " archives in " << bundle.string()
            << "; kvsweep verify " << bundle.string() << '\n';
  return kOk;
}

int verify(const Options& options) {
  const fs::path bundle = options.arguments.front();
  const Manifest manifest = read_manifest(bundle);
  Findings findings;
  if (manifest.program != kProgram)
    findings.say("program", kNote,
                 "packed by " + manifest.program + ", verified by " + kProgram +
                     ": cells whose engine has changed since may differ");
  check_files(bundle, manifest, findings);
  if (!findings.damaged) check_archives(bundle, findings);
  if (findings.damaged) return kBadArchive;  // nothing behind it would count
  check_claims(bundle, findings);
  run_again(bundle, options.minutes.value_or(10), options.set, findings);
  return findings.differs ? kSomeCellsFailed : kOk;
}

}  // namespace driver
