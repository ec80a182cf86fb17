#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/report/json.hpp"
#include "analysis/report/plain.hpp"
#include "analysis/report/report.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/packed.hpp"
#include "analysis/text/web_page.hpp"
#include "driver/bound/archived.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/version.hpp"
#include "sweeps/files/child_process.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {
namespace {

/// What kvsweep-figures (analysis/python) drew.
struct Figures {
  std::vector<analysis::ReportPicture> pictures;  // none when something is missing
  std::string problem;                            // what, then
};

namespace fs = std::filesystem;

/// A temporary folder, removed by the destructor.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::string name = (parent / "kvsweep-figures-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(),
                              "cannot make a folder in " + parent.string());
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The file in one of these folders, seen from the program's.
std::optional<fs::path> beside_program(const char* name, const char* built, const char* installed) {
  std::error_code none;
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& dir : {bin / built, bin / installed})
    if (fs::exists(dir / name, none)) return fs::canonical(dir / name);
  return std::nullopt;
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

std::vector<analysis::ReportPicture> pictures_in(const fs::path& folder) {
  std::vector<analysis::ReportPicture> pictures;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".svg")
      pictures.push_back({entry.path().stem().string(), sweep::file_bytes(entry.path().string())});
  }
  std::ranges::sort(pictures, {}, &analysis::ReportPicture::caption);
  return pictures;
}

/// Runs kvsweep-figures on a report's data, in a folder of its own below `scratch` that is removed
/// again.
Figures draw_figures(const fs::path& data, const fs::path& scratch) {
  const auto script =
      beside_program("kvsweep-figures", "../../../analysis/python", "../share/kvsweep/python");
  if (!script) return {{}, "kvsweep-figures is not beside the program"};
  const ScratchFolder folder(scratch);
  const fs::path log = folder.path() / "log.txt";
  // The first python3 in PATH may not be the one that the system's packages belong to.
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    // NumPy's OpenBLAS would take memory for every core, and hang where it may not.
    std::vector<std::string> words = {"env",
                                      "OPENBLAS_NUM_THREADS=1",
                                      python,
                                      script->string(),
                                      data.string(),
                                      "-o",
                                      folder.path().string(),
                                      "--formats",
                                      "svg"};
    if (sweep::run_program(std::move(words), log.string()).exit_code == 0)
      return {pictures_in(folder.path()), ""};
  }
  const std::string said = fs::exists(log) ? last_line(sweep::file_bytes(log)) : "";
  return {{}, "kvsweep-figures failed" + (said.empty() ? "" : ": " + said)};
}

/// Where a report without its page's data has them.
fs::path data_in(const fs::path& folder) { return folder / "report.json"; }

std::string json_of(const analysis::Report& report) {
  return analysis::report_json(report, std::string(kVersion) + " (" + kCommit + ')');
}

void write_page(const analysis::Report& report, const fs::path& page, analysis::NewFile& file) {
  const std::string json = analysis::packed_json(json_of(report));
  file.fill([&](std::ostream& out) { analysis::write_web_page(page, json, out); });
}

/// Without the pages of the web build: tables, the figures that kvsweep-figures makes, and the
/// report's data beside the page.
void write_without_page(const analysis::Report& report, const Options& options,
                        analysis::NewFile& file) {
  const fs::path path = data_in(*options.output);
  analysis::NewFile data(path);
  data.fill([&](std::ostream& out) { out << json_of(report); });
  data.commit();
  const Figures figures = draw_figures(fs::absolute(path), options.scratch);
  std::string why =
      "This program was built without its web pages (docs/results.md), so nothing here can be "
      "zoomed or toggled. ";
  why +=
      figures.pictures.empty()
          ? "There are no figures either: " + figures.problem + '.'
          : "The figures are those of kvsweep-figures, which draws report.json beside this page.";
  std::cout << analysis::terminal_text(why) << '\n';
  file.fill(
      [&](std::ostream& out) { analysis::write_plain_report(report, figures.pictures, why, out); });
}

analysis::ServiceGoals goals_of(const Options& options) {
  if (!options.slo) return {};
  try {
    return analysis::parse_goals(*options.slo);
  } catch (const std::invalid_argument& error) {
    throw UsageError("--slo: " + std::string(error.what()));
  }
}

/// Bounds the cells of all archives.
analysis::CellBounds bounds_in(const Options& options) {
  analysis::CellBounds all;
  if (!options.bound) return all;
  for (const std::string& path : options.arguments) {
    const sweep::ArchiveReader archive = open_archive(path);
    const ArchivedBounds bounds = bounds_of(selected_cells(archive.cells(), options), options);
    print_missing(bounds, std::cout);
    all.insert(bounds.by_key.begin(), bounds.by_key.end());
  }
  return all;
}

}  // namespace

std::optional<fs::path> find_web_page(const char* name) {
  return beside_program(name, "../web", "../share/kvsweep/web");
}

int report(const Options& options) {
  if (!options.output) throw UsageError("report needs a folder to write to: -o DIR");
  analysis::Report report;
  const analysis::ServiceGoals goals = goals_of(options);
  const analysis::CellBounds bounds = bounds_in(options);
  using_files(
      [&] { report = analysis::make_report(options.arguments, options.profiles, goals, bounds); });
  std::error_code failed;
  fs::create_directories(*options.output, failed);
  const std::string why = failed.message();
  if (failed || !fs::is_directory(*options.output)) {
    fs::path obstacle = *options.output;
    while (!fs::exists(obstacle, failed) && obstacle.has_parent_path() &&
           obstacle != obstacle.parent_path())
      obstacle = obstacle.parent_path();
    const bool is_file = fs::exists(obstacle) && !fs::is_directory(obstacle);
    throw UsageError("report -o " + options.output->string() + ": " +
                     (is_file ? obstacle.string() + " is a file, and a folder is needed"
                              : "this folder cannot be made: " + why));
  }
  const fs::path target = *options.output / "index.html";
  analysis::NewFile file(target);
  if (const auto page = find_web_page("report.html")) {
    write_page(report, *page, file);
    fs::remove(data_in(*options.output), failed);
  } else {
    write_without_page(report, options, file);
  }
  file.commit();
  std::cout << "Report: "
            << analysis::terminal_text(fs::absolute(target).lexically_normal().string()) << '\n';
  return kOk;
}

}  // namespace driver
