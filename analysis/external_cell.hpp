#pragma once
#include <deque>
#include <string>

#include "sweeps/cells_table.hpp"

namespace analysis {

/// A result that something else got, beside the cells of archives: a JSON file, which
/// docs/report.md describes. Its figures never stand in a row of ours.
struct ExternalCell {
  std::string file;          // its name, without the folder
  std::string name;          // what got the result
  std::string experiment;    // the sweep that it stands beside
  std::string source;        // "MEASURED (transformers 4.57, torch 2.9, NVIDIA A100)"
  sweep::CellRecord record;  // config and figures as /cells has them; backend "external"
};

/// Whether a word of the command line names such a file rather than an archive.
bool names_external(const std::string& path);

/// Throws sweep::FileError when there is no such file, sweep::SpecError naming the file and the key
/// for what is wrong in it.
ExternalCell load_external(const std::string& path);

}  // namespace analysis
