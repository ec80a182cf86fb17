#include "sweeps/upkeep/upkeep.hpp"

#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {

int salvage(const Options& options) {
  if (!options.output) throw UsageError("salvage needs -o B.h5, the archive to write");
  const std::string target = options.output->string();
  sweep::Salvage salvage;
  using_files([&] { salvage = sweep::salvage_archive(options.arguments.front(), target); });
  for (const std::string& each : salvage.lost)
    std::cout << "lost: " << analysis::terminal_text(each) << '\n';
  for (const std::string& each : salvage.sources)
    std::cout << "from " << analysis::terminal_text(each) << '\n';
  std::cout << analysis::terminal_text(target) << ": " << salvage.saved << " results saved, "
            << salvage.lost.size() << " lost\n"
            << "`kvsweep run SWEEP.toml --archive " << analysis::terminal_text(target)
            << "` runs what is missing\n";
  return salvage.lost.empty() ? kOk : kSomeCellsFailed;
}

}  // namespace driver
