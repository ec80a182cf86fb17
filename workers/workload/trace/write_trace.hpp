#pragma once
#include <iosfwd>
#include <string>

#include "workers/workload/trace/session.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// Jobs that hold their tokens as a trace: ids are the hashes of blocks of 64 tokens.
TraceSet trace_of(const Workload& workload);

/// Writes a trace so that read_trace() reads the same programs from it. `format` is "mooncake",
/// which any trace can be written in, or "weka", whose programs are trees of subagents. Prompts
/// without ids get some, which share whole blocks of 16 tokens. Throws engine::InputError for a
/// format that cannot hold the trace.
void write_trace(const TraceSet& set, const std::string& format, std::ostream& out);

/// Writes the chats of a trace of texts, a file or a folder in `format`, as OpenAI messages: a chat
/// a line, which read_trace() and read_trajectories() read as they do the original. Throws
/// engine::InputError for a trace without texts.
void write_messages(const std::string& path, const std::string& format, std::ostream& out);

}  // namespace workload
