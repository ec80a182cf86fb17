#include "analysis/claims/claims.hpp"

#include <iostream>

#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {

int claims(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  if (options.set.size() > 1) throw UsageError("claims judges one --set, or all without it");
  const std::string set = options.set.empty() ? "" : options.set.front();
  using_files([&] {
    print_claims(analysis::run_claims(options.arguments, set, options.profiles), format, std::cout);
  });
  return kOk;
}

}  // namespace driver
