#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "analysis/report/report.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/web_page.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/version.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// Throws UsageError, which says what is in the way.
void make_folder(const fs::path& folder) {
  std::error_code failed, ignored;
  fs::create_directories(folder, failed);
  if (!failed && fs::is_directory(folder)) return;
  fs::path obstacle = folder;
  while (!fs::exists(obstacle, ignored) && obstacle.has_parent_path() &&
         obstacle != obstacle.parent_path())
    obstacle = obstacle.parent_path();
  const bool is_file = fs::exists(obstacle) && !fs::is_directory(obstacle);
  throw UsageError("report -o " + folder.string() + ": " +
                   (is_file ? obstacle.string() + " is a file, and a folder is needed"
                            : "this folder cannot be made: " + failed.message()));
}

const char* const kWithoutPages =
    "This program was built without its web pages (docs/results.md), so that there is no page; "
    "kvsweep-figures draws the charts of report.json, and `kvsweep table` and `claims` print "
    "tables.";

}  // namespace

std::optional<fs::path> find_web_page(const char* name) {
  const fs::path page = beside_program(name, {"../web", "../share/kvsweep/web"}) / name;
  return fs::exists(page) ? std::optional(page) : std::nullopt;
}

int report(const Options& options) {
  if (!options.output) throw UsageError("report needs a folder to write to: -o DIR");
  analysis::Report report;
  using_files([&] { report = analysis::make_report(options.arguments, options.profiles); });
  make_folder(*options.output);
  const std::string json = analysis::report_json(report, kProgram);
  const auto page = find_web_page("report.html");
  const fs::path target = *options.output / (page ? "index.html" : "report.json");
  analysis::write_file(target, [&](std::ostream& out) {
    if (page)
      analysis::write_web_page(*page, "{\"deflated\":\"" + analysis::packed(json) + "\"}", out);
    else
      out << json;
  });
  std::error_code ignored;
  fs::remove(*options.output / (page ? "report.json" : "index.html"), ignored);
  if (!page) std::cout << kWithoutPages << '\n';
  std::cout << "Report: "
            << analysis::terminal_text(fs::absolute(target).lexically_normal().string()) << '\n';
  return kOk;
}

}  // namespace driver
