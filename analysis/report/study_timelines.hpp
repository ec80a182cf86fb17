#pragma once
// Private to this room: the parts of a study's figures that show single cells.
#include "analysis/report/chart.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

/// A column of /steps by forward pass, or "window_use": tokens of the pass in % of its token
/// budget.
std::vector<double> forward_values(const sweep::Table& steps, const std::string& column);

/// Adds the KV use of device and host in % over time, as two series, and the evictions.
void add_kv_use(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& evictions);

/// Adds the states of every request: prefill, decode, waits and copies.
void add_request_spans(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& sched,
                       const sweep::Table& evictions);

}  // namespace analysis
