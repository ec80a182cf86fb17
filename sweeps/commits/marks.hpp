#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// A cell that was started and has not been committed.
struct RunMark {
  std::string key;
  int attempt = 0;
  int deaths = 0;  // earlier attempts that are counted as having killed their process
  std::string host;
  long pid = 0;
  std::string phase;
  std::string died;       // how the cell killed its process: "signal 11", from the worker's handler
                          // of fatal signals, or what the driver observed
  bool alone = false;     // the process ended with its driver, and no other cell ran
  std::string stopped{};  // set by the driver if it was asked to stop while the process lived, or
                          // the end of the process is counted
  std::int64_t start_ticks = 0;     // process_start() of its process; 0: unknown
  std::vector<std::string> with{};  // cells that its process ran in the same attempt
};

/// The marks of an archive: a file "<key>.run" in its folder for each cell that is about to run or
/// was not finished.
class Marks {
 public:
  Marks(std::string archive, FileOps& files) : archive_(std::move(archive)), files_(files) {}
  /// The file of the mark. A dying worker may append the line "died=<how>" to it.
  std::string path(const std::string& key) const;
  /// Writes or replaces a mark: whatever ends at any instant, this process or the power, the old
  /// one or the new one is there, whole. Throws ArchiveWriteFailed, as the next two.
  void write(const RunMark& mark);
  /// Appends "name=value" to the mark of a running cell.
  void add(const std::string& key, const std::string& name, const std::string& value);
  void remove(const std::string& key);
  /// Marks of earlier runs for cells that are still to run, as `is_open` says. Removes
  /// the other marks, and gives each cell of a shared one a mark of its own.
  std::vector<RunMark> take_over(const std::function<bool(const std::string&)>& is_open);

 private:
  std::string archive_;
  FileOps& files_;
};

/// Marks of the cells that the driver of an archive has started and not committed.
/// Takes no lock and can be called at any time. Their processes may have died.
std::vector<RunMark> run_marks(const std::string& archive);

/// The number of attempts that count as having killed their process, from the mark of a driver that
/// is gone. The last attempt counts if its death was recorded (`died`), or if its process was the
/// driver's only worker and had not been asked to stop, unless another cell may have been running.
int deaths_of(const RunMark& mark);

/// Start time of a process on this host, in clock ticks since boot. With the process id it
/// identifies a process uniquely. 0 for a zombie, empty if /proc does not show the process.
std::optional<std::int64_t> process_start(long pid);

/// Whether the mark's process is known to have ended, even if its id has been reused. False for
/// processes of other hosts.
bool process_is_gone(const RunMark& mark, const std::string& this_host);

}  // namespace sweep
