#pragma once
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "workers/cell/experiment.hpp"

namespace worker {

/// Converts a text from a file into a form that may be written to the output stream.
using ShownText = std::string (*)(std::string_view);

/// Prints the dataset table of the experiment's workload; with a job (id, or number from 0), the
/// token budget of one of its turns instead. Names from files go through `shown`. Throws
/// engine::InputError when there is no such job or turn.
void describe_workload(const ExperimentConfig& config, const std::optional<std::string>& job,
                       int turn, ShownText shown, std::ostream& out);

/// Prints what the trace at `path` was taken for, and what it demands.
void describe_trace(const std::string& path, ShownText shown, std::ostream& out);

/// Writes the experiment's workload, or the trace at `path`, in a format of traces.
void write_workload(const ExperimentConfig& config, const std::string& format, std::ostream& out);
void write_trace(const std::string& path, const std::string& format, std::ostream& out);

}  // namespace worker
