#pragma once
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/options.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {

// Common parts of the commands that read archives.

/// Calls `use`. A file that is missing or cannot be opened becomes a UsageError; other exceptions
/// pass through.
void using_files(const std::function<void()>& use);

/// Opens an archive named on the command line. Throws UsageError when there is none.
sweep::ArchiveReader open_archive(const std::string& path);

/// The cells that --only and --skip leave, in plan order. They point into `cells`.
std::vector<analysis::ConfiguredCell> selected_cells(const std::vector<sweep::CellRecord>& cells,
                                                     const CellChoice& choice);
/// Adds figures that the archive does not have: analysis::derive_figures().
std::vector<analysis::ConfiguredCell> selected_cells(sweep::ArchiveReader& archive,
                                                     const CellChoice& choice);
/// The chosen cells with a result.
std::vector<analysis::ConfiguredCell> finished_cells(const std::vector<sweep::CellRecord>& cells,
                                                     const CellChoice& choice);
/// "72 cells, 60 with a result"
std::string results_text(const sweep::ArchiveReader& archive);

/// The row that CELL names: a plan index, the first 8 or more hex digits of a key, or a label.
/// Throws UsageError when no cell or more than one is meant.
int find_cell(const std::vector<sweep::CellRecord>& cells, const std::string& word);

/// Whether the cell is of a server that has logged its steps.
bool has_logged_steps(const sweep::CellRecord& cell);
/// Throws UsageError for a cell of backend server: its blocks and queues are not seen.
void require_seen_steps(const sweep::CellRecord& cell);
/// Throws UsageError for a cell with a result at a level without this table.
void require_table(const sweep::CellRecord& cell, std::string_view table);

/// The cell that a word names. Throws UsageError unless it has a result with every table.
const sweep::CellRecord& finished_cell(const sweep::ArchiveReader& reader, const std::string& word);

/// --format text or csv; text by default.
analysis::GridFormat grid_format(const Options& options);

/// Lets `write` fill the file of --output, which then appears complete or not at all, or standard
/// output.
void write_output(const Options& options, const std::function<void(std::ostream&)>& write);

}  // namespace driver
