#pragma once
#include <string>
#include <vector>

#include "driver/command_line/exit_codes.hpp"

namespace driver {

/// Call while an exception is being handled. Prints to standard error what is wrong and what to do
/// about it, and returns the exit code.
ExitCode report_failure();

/// Prints that reading these archives crashed a process, and returns the exit code.
ExitCode report_crash(const std::vector<std::string>& archives, int signal);

/// Flushes standard output. Throws when something could not be written, e.g. because the disk is
/// full.
void check_standard_output();

}  // namespace driver
