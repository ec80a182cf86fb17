#include "analysis/trace_jsonl.hpp"

#include <algorithm>
#include <iostream>

#include "driver/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"

namespace driver {

int trace(const Options& options) {
  sweep::ArchiveReader reader = open_archive(options.arguments[0]);
  const int row = find_cell(reader.cells(), options.arguments[1]);
  const sweep::CellRecord& cell = reader.cells()[static_cast<std::size_t>(row)];
  if (cell.status != sweep::CellStatus::ok) {
    throw UsageError("cell " + std::to_string(row) + " (" + cell.label +
                     ") has no result: " + std::string(sweep::to_text(cell.status)) +
                     (cell.reason.empty() ? "" : ": " + cell.reason));
  }
  const sweep::CellResult result = reader.load(row).result;
  const auto wanted = [&](const char* part) {
    return options.trace_parts.empty() || std::ranges::count(options.trace_parts, part) > 0;
  };
  if (wanted("steps")) analysis::write_steps(result, std::cout);
  if (wanted("events")) analysis::write_events(result, std::cout);
  if (wanted("requests")) analysis::write_requests(result, std::cout);
  return kOk;
}

}  // namespace driver
