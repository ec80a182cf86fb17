#include "workers/tools/doctor.hpp"

#include <iomanip>
#include <iostream>

#include "analysis/text/color.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/version.hpp"

namespace driver {
namespace {

analysis::Colored word(worker::Verdict verdict) {
  switch (verdict) {
    case worker::Verdict::ok:
      return {analysis::Color::good, "ok"};
    case worker::Verdict::warn:
      return {analysis::Color::unsure, "warn"};
    case worker::Verdict::fail:
      return {analysis::Color::bad, "FAIL"};
  }
  return {};
}

}  // namespace

int doctor(const Options& options) {
  const std::filesystem::path archive = options.archive.value_or("");
  const std::filesystem::path folder = archive.has_parent_path() ? archive.parent_path() : ".";
  const bool needs_gpu = options.backend == "cuda";
  bool failed = false;
  for (const worker::DoctorRow& row :
       worker::examine({kMpiVersion, folder, options.profiles, needs_gpu})) {
    std::cout << std::left << std::setw(5) << word(row.verdict) << ' ' << std::setw(16) << row.check
              << ' ' << analysis::terminal_text(row.text) << '\n';
    failed = failed || row.verdict == worker::Verdict::fail;
  }
  return failed ? kSomeCellsFailed : kOk;
}

}  // namespace driver
