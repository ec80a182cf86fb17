#include <iostream>

#include "analysis/escape.hpp"
#include "driver/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"
#include "sweeps/archive_check.hpp"

namespace driver {

int merge(const Options& options) {
  if (!options.output) throw UsageError("merge needs -o C.h5, the archive to write");
  const std::string target = options.output->string();
  if (std::filesystem::exists(*options.output))
    throw UsageError(target + " exists already; merge writes a new archive");
  using_files([&] { sweep::merge_archives(options.arguments[0], options.arguments[1], target); });
  const sweep::ArchiveReader merged = open_archive(target);
  int done = 0;
  for (const sweep::CellRecord& cell : merged.cells())
    done += cell.status == sweep::CellStatus::ok ? 1 : 0;
  std::cout << analysis::terminal_text(target) << ": " << merged.cells().size() << " cells, "
            << done << " with a result\n";
  return kOk;
}

}  // namespace driver
