#include "workers/tools/doctor.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "driver/version.hpp"

namespace driver {
namespace {

/// By worker::Verdict.
constexpr analysis::Colored kWords[] = {{analysis::Color::good, "ok"},
                                        {analysis::Color::unsure, "warn"},
                                        {analysis::Color::bad, "FAIL"}};

/// The server of the first cell, whichever version it is.
std::vector<worker::DoctorRow> examine_first_server(const std::string& sweep, Options options) {
  options.backend = "server";
  const Plan plan = make_plan(sweep, options);
  const std::string log = plan.spec.name + "-doctor.log";
  const std::vector<worker::DoctorRow> rows =
      worker::examine_server(*first_to_run(plan).repeats->server, log);
  // A server's own words are of use where something is wrong with it.
  const bool right = std::ranges::all_of(
      rows, [](const worker::DoctorRow& row) { return row.verdict == worker::Verdict::ok; });
  if (right) std::filesystem::remove(log);
  return rows;
}

std::vector<worker::DoctorRow> examine(const Options& options) {
  if (options.server) return examine_first_server(*options.server, options);
  const std::filesystem::path archive = options.archive.value_or("");
  const std::filesystem::path folder = archive.has_parent_path() ? archive.parent_path() : ".";
  return worker::examine({kMpiVersion, folder, options.profiles, options.backend == "cuda"});
}

}  // namespace

int doctor(const Options& options) {
  bool failed = false;
  for (const worker::DoctorRow& row : examine(options)) {
    std::cout << std::left << std::setw(5) << kWords[static_cast<std::size_t>(row.verdict)] << ' '
              << std::setw(16) << row.check << ' ' << analysis::terminal_text(row.text) << '\n';
    failed = failed || row.verdict == worker::Verdict::fail;
  }
  return failed ? kSomeCellsFailed : kOk;
}

}  // namespace driver
