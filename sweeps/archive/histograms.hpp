#pragma once
// /hist: a histogram of every cell's steps.
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Counts the steps of a table of steps.
StepHistograms histograms_of(const Table& steps, RowRange rows);

/// /hist/step_tok and /hist/step_dur: edges[n + 1] and counts[cells, n].
void write_histograms(hid_t file, const std::vector<CellRecord>& cells);
void read_histograms(hid_t file, std::vector<CellRecord>& cells);

/// The histograms of cells as a table. Throws TableError when it is of other cells.
Table histograms_table(const std::vector<CellRecord>& cells);
void take_histograms(const Table& table, std::vector<CellRecord>& cells);

}  // namespace sweep
