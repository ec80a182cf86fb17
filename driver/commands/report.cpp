#include "analysis/report/report.hpp"

#include <iostream>

#include "analysis/report/json.hpp"
#include "analysis/report/plain.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/web_page.hpp"
#include "driver/bound/archived.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/commands/report_figures.hpp"
#include "driver/commands/web_assets.hpp"
#include "driver/version.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

void write_page(const analysis::Report& report, const fs::path& page, analysis::NewFile& file) {
  const std::string program = std::string(kVersion) + " (" + kCommit + ')';
  const std::string json = analysis::report_json(report, program);
  file.fill([&](std::ostream& out) { analysis::write_web_page(page, json, out); });
}

/// Without the pages of the web build: tables, and the figures that kvsweep-figures makes.
void write_without_page(const analysis::Report& report, const Options& options,
                        analysis::NewFile& file) {
  const Figures figures = draw_figures(options.arguments, options.scratch);
  std::string why =
      "This program was built without its web pages (docs/report.md), so nothing here can be "
      "zoomed or toggled. ";
  why += figures.pictures.empty() ? "There are no figures either: " + figures.problem + '.'
                                  : "The figures are those of kvsweep-figures.";
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

/// Of the cells of all archives.
analysis::CellBounds bounds_in(const Options& options) {
  analysis::CellBounds all;
  if (!options.bound) return all;
  for (const std::string& path : options.arguments) {
    if (analysis::names_external(path)) continue;
    const sweep::ArchiveReader archive = open_archive(path);
    const ArchivedBounds bounds = bounds_of(selected_cells(archive.cells(), options), options);
    print_missing(bounds, std::cout);
    all.insert(bounds.by_key.begin(), bounds.by_key.end());
  }
  return all;
}

}  // namespace

int report(const Options& options) {
  if (!options.output) throw UsageError("report needs a folder to write to: -o DIR");
  analysis::Report report;
  const analysis::ServiceGoals goals = goals_of(options);
  const analysis::CellBounds bounds = bounds_in(options);
  using_files(
      [&] { report = analysis::make_report(options.arguments, options.profiles, goals, bounds); });
  std::error_code failed;
  fs::create_directories(*options.output, failed);
  if (failed || !fs::is_directory(*options.output)) {
    const std::string why = failed ? failed.message() : "it is a file";
    throw UsageError("report -o " + options.output->string() + ": no folder can be there, " + why);
  }
  const fs::path target = *options.output / "index.html";
  analysis::NewFile file(target);
  if (const auto page = find_web_page("report.html")) {
    write_page(report, *page, file);
  } else {
    write_without_page(report, options, file);
  }
  file.commit();
  std::cout << "Report: "
            << analysis::terminal_text(fs::absolute(target).lexically_normal().string()) << '\n';
  return kOk;
}

}  // namespace driver
