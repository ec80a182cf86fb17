#include "analysis/claims/claims.hpp"

#include <iostream>

#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {

int claims(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  if (options.set.size() > 1) throw UsageError("claims judges one --set, or all without it");
  const std::string set = options.set.empty() ? "" : options.set.front();
  try {
    print_claims(
        analysis::run_claims(options.arguments, set, options.profiles, options.sensitivity), format,
        std::cout);
  } catch (const sweep::FileError& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
