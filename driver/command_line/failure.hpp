#pragma once
#include <string>
#include <vector>

#include "driver/command_line/exit_codes.hpp"

namespace driver {

/// To be called where an exception is being handled: says on standard error what is wrong, with
/// what can be done about it. The exit code that it means.
ExitCode report_failure();

/// Says that reading these archives crashed a process, and the exit code of that.
ExitCode report_crash(const std::vector<std::string>& archives, int signal);

/// A full disk or a closed pipe shows in the last write at the latest. Throws then.
void check_standard_output();

}  // namespace driver
