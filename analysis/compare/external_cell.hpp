#pragma once
#include <string>

#include "sweeps/archive/cells_table.hpp"

namespace analysis {

/// A result of another program, shown beside the cells of archives: a JSON file, described in
/// docs/report.md. Its figures never share a row with those of cells.
struct ExternalCell {
  std::string file;          // file name without the folder
  std::string name;          // the program that produced the result
  std::string experiment;    // the sweep that it is compared with
  std::string source;        // "MEASURED (transformers 4.57, torch 2.9, NVIDIA A100)"
  sweep::CellRecord record;  // config and figures as /cells has them; backend "external"
};

/// Whether a command line argument names such a file, not an archive.
bool names_external(const std::string& path);

/// Throws sweep::FileError when there is no such file, and sweep::SpecError, which names the file
/// and the key, for invalid contents.
ExternalCell load_external(const std::string& path);

}  // namespace analysis
