#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/archive.hpp"

namespace sweep {

/// Marks of the cells that the driver of an archive has started and not committed.
/// Takes no lock and can be called at any time. Their processes may have died.
std::vector<RunMark> run_marks(const std::string& archive);

/// The number of attempts that count as having killed their process, from the mark of a driver that
/// is gone. The last attempt counts if its death was recorded (`died`), or if its process was both
/// driver and worker and had not been asked to stop, unless another cell may have been running.
int deaths_of(const RunMark& mark);

/// Start time of a process on this host, in clock ticks since boot. With the process id it
/// identifies a process uniquely. 0 for a zombie, empty if /proc does not show the process.
std::optional<std::int64_t> process_start(long pid);

/// Whether the mark's process is known to have ended, even if its id has been reused. False for
/// processes of other hosts.
bool process_is_gone(const RunMark& mark, const std::string& this_host);

}  // namespace sweep
