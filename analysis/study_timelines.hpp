#pragma once
// Private to this folder: what a study's figures show of single cells.
#include "analysis/study_charts.hpp"
#include "sweeps/table.hpp"

namespace analysis {

/// A column of /steps pass by pass, or "window_use": % of what the pass may compute.
std::vector<StudyPoint> forward_points(const sweep::Table& steps, const std::string& column,
                                       int first);

/// KV use of device and host in % over time, as two series, and its evictions.
void add_kv_use(StudyPanel& panel, const sweep::Table& steps, const sweep::Table& evictions);

/// What every request did: prefill, decode, waits and copies.
void add_request_spans(StudyPanel& panel, const sweep::Table& steps, const sweep::Table& sched,
                       const sweep::Table& evictions);

}  // namespace analysis
