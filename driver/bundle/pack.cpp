#include "driver/bundle/commands.hpp"

#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/bundle/manifest.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/check.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// What results are bound and judged by, of the folder sweeps/.
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

/// "36 cells MEASURED (cuda), 12 MODELLED (sim, published)"
std::string cells_text(const sweep::ArchiveReader& reader) {
  std::map<std::string, int> kinds;
  for (const sweep::CellRecord& cell : reader.cells())
    if (cell.status == sweep::CellStatus::ok)
      ++kinds[analysis::figures_kind(analysis::ConfiguredCell(cell))];
  std::string text;
  for (const auto& [kind, cells] : kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(cells) + ' ' + kind;
  return text;
}

/// The command of each run.
std::string commands_text(const sweep::ArchiveReader& reader) {
  std::set<std::string> commands;
  for (const sweep::Column& column : reader.provenance().columns)
    if (column.name == "command")
      for (const std::string& each : std::get<std::vector<std::string>>(column.data))
        commands.insert("kvsweep " + each);
  std::string text;
  for (const std::string& each : commands) text += (text.empty() ? "`" : ", `") + each + '`';
  return text.empty() ? "-" : text;
}

std::string readme(const fs::path& bundle) {
  std::string text = "# Results, to be judged again\n\nPacked by kvsweep " + this_version() +
                     R"(.

    kvsweep verify .        # fifteen minutes at most, without a GPU

`verify` checks every digest and archive, judges the claims of `expected/claims.csv` again, and runs
cells of the simulator again, as many as its time allows. It says which cells would need a GPU.

| archive | cells with a result | made by |
|---|---|---|
)";
  for (const std::string& each : archives_of(bundle)) {
    const sweep::ArchiveReader reader(each);
    text += "| archives/" + fs::path(each).filename().string() + " | " + cells_text(reader) +
            " | " + commands_text(reader) + " |\n";
  }
  return text;
}

void fill(const std::vector<std::string>& archives, const fs::path& sweeps,
          const fs::path& bundle) {
  for (const std::string& each : archives) copy_archive(each, bundle);
  for (const char* folder : kJudgedBy)
    if (fs::exists(sweeps / folder))
      fs::copy(sweeps / folder, bundle / "sweeps" / folder, fs::copy_options::recursive);
  write(bundle / "expected/claims.csv", claims_of(bundle));
  write(bundle / "README.md", readme(bundle));
  write(bundle / kManifestFile, to_toml({this_version(), files_of(bundle)}));
}

/// Writes a folder that another machine can judge again: the archives, the profiles, claims and
/// published values that they are judged by, their sweep files, what comes out of them, and the
/// digests of all of it. The folder appears complete or not at all; it must not exist. Throws
/// UsageError for archives that are not whole, not merged or share a name, and sweep::FileError.
void pack(const std::vector<std::string>& archives, const fs::path& sweeps,
          const fs::path& bundle) {
  if (fs::exists(fs::symlink_status(bundle))) throw UsageError(bundle.string() + " exists already");
  const fs::path partial = bundle.string() + ".partial";
  fs::remove_all(partial);
  try {
    fill(archives, sweeps, partial);
    fs::rename(partial, bundle);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
}

}  // namespace

int run_pack(const Options& options) {
  if (!options.output) throw UsageError("pack needs -o DIR, the folder to write");
  using_files([&] { pack(options.arguments, options.profiles, *options.output); });
  std::cout << "packed " << options.arguments.size() << " archives in " << options.output->string()
            << "; kvsweep verify " << options.output->string() << '\n';
  return kOk;
}

}  // namespace driver
