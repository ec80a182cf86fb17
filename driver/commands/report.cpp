#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/json.hpp"
#include "analysis/report/plain.hpp"
#include "analysis/report/report.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/packed.hpp"
#include "analysis/text/web_page.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/version.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// The file in one of these folders, seen from the program's.
std::optional<fs::path> beside_program(const char* name, const char* built, const char* installed) {
  std::error_code none;
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& dir : {bin / built, bin / installed})
    if (fs::exists(dir / name, none)) return fs::canonical(dir / name);
  return std::nullopt;
}

std::string json_of(const analysis::Report& report) {
  return analysis::report_json(report, kProgram);
}

void write_page(const analysis::Report& report, const fs::path& page, std::ostream& out) {
  const std::string json = "{\"deflated\":\"" + analysis::packed(json_of(report)) + "\"}";
  analysis::write_web_page(page, json, out);
}

const char* const kWithoutPages =
    "This program was built without its web pages (docs/results.md), so here are tables alone; "
    "kvsweep-figures draws report.json beside this page.";

}  // namespace

std::optional<fs::path> find_web_page(const char* name) {
  return beside_program(name, "../web", "../share/kvsweep/web");
}

int report(const Options& options) {
  if (!options.output) throw UsageError("report needs a folder to write to: -o DIR");
  analysis::Report report;
  using_files([&] { report = analysis::make_report(options.arguments, options.profiles); });
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
  const fs::path data = *options.output / "report.json";  // of a report without pages
  if (const auto page = find_web_page("report.html")) {
    analysis::write_file(target, [&](std::ostream& out) { write_page(report, *page, out); });
    fs::remove(data, failed);
  } else {
    analysis::write_file(data, [&](std::ostream& out) { out << json_of(report); });
    std::cout << kWithoutPages << '\n';
    analysis::write_file(target, [&](std::ostream& out) {
      analysis::write_plain_report(report, kWithoutPages, out);
    });
  }
  std::cout << "Report: "
            << analysis::terminal_text(fs::absolute(target).lexically_normal().string()) << '\n';
  return kOk;
}

}  // namespace driver
