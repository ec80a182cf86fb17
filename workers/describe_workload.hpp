#pragma once
#include <iosfwd>
#include <optional>
#include <string>

#include "workers/experiment.hpp"

namespace worker {

/// Prints the dataset table of the experiment's workload; with a job (id, or number from 0), the
/// token budget of one of its turns instead. Throws engine::InputError when there is no such job or
/// turn.
void describe_workload(const ExperimentConfig& config, const std::optional<std::string>& job,
                       int turn, std::ostream& out);

}  // namespace worker
