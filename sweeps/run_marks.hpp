#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive.hpp"

namespace sweep {

/// The cells that the driver of an archive has started and not committed, at any instant and
/// without a lock, sorted by key. Their processes may have died since.
std::vector<RunMark> run_marks(const std::string& archive);

/// Starts of the cell that ended in the death of its process and count against it, given the mark
/// of a driver that is gone. The last start counts when its death was noted (`died`), and when
/// the process that is gone was driver and worker in one and had not been asked to stop.
int deaths_of(const RunMark& mark);

/// When a process of this host started, in clock ticks since the host did: with the process id it
/// names a process for good. 0 when it is dead and not reaped, nothing when /proc does not show it.
std::optional<std::int64_t> process_start(long pid);

/// Whether the mark's process is known to have ended, also where another one has its number now. Of
/// other hosts nothing is known.
bool process_is_gone(const RunMark& mark, const std::string& this_host);

}  // namespace sweep
