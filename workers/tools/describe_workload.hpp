#pragma once
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/cell/experiment.hpp"
#include "workers/workload/trace/working_set.hpp"

namespace worker {

/// Converts a text from a file into a form that may be written to the output stream.
using ShownText = std::string (*)(std::string_view);

/// Prints the dataset table of the experiment's workload, its working set beside the pools of
/// `by_gpu`, which differ from it in the GPU alone, and what each of those computes while a job is
/// away. Names from files go through `shown`.
void describe_workload(const ExperimentConfig& config, const std::vector<ExperimentConfig>& by_gpu,
                       ShownText shown, std::ostream& out);

/// Prints the token budget of a turn of a job (id, or number from 0). Throws engine::InputError
/// when there is no such job or turn.
void describe_turn(const ExperimentConfig& config, const std::string& job, int turn,
                   ShownText shown, std::ostream& out);

/// The experiment's KV pool under the name of its GPU.
workload::KvPool pool_of(const ExperimentConfig& config);

/// Prints what the trace at `path` was made of, and what it demands.
void describe_trace(const std::string& path, ShownText shown, std::ostream& out);

}  // namespace worker
