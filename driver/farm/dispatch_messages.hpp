#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "workers/rank/channel.hpp"

namespace driver {

using engine::Nanos;

// Messages to and from the dispatcher.

/// A cell to run: the part of it that dispatching needs.
struct CellTask {
  int cell = 0;  // its index in the plan
  std::string sku{};
  double estimate_s = 0;  // expected run time; 0: unknown
  double host_gib = 0;    // host memory that it needs
  int attempts = 0;       // in earlier runs
  int deaths = 0;         // earlier attempts that are counted as having killed their process
  bool alone = false;     // it has shared an attempt that ended without a result
  /// Cells of a group are served by one server. They run one after another where nothing else
  /// decides, since it is costly to start: in the place of the group's longest cell. 0: none.
  int group = 0;
  double group_s = 0;  // estimate of the longest cell of the group
  /// All workers ask the same server for the cells of the group: no two of them run at once.
  bool one_server = false;
};

struct DispatchRules {
  std::string backend{};
  int workers = 1;                           // number of workers that will say hello
  int tries = 2;                             // attempts at a cell in this run
  int deaths = 2;                            // deaths that quarantine a cell
  std::optional<Nanos> deadline{};           // when the whole run must have ended
  Nanos margin = std::chrono::seconds(90);   // kept free before the deadline
  std::optional<Nanos> cell_timeout{};       // for a whole cell; if unset, the next two apply
  Nanos stalled = std::chrono::minutes(10);  // longest time without progress while a cell serves
  Nanos stalled_outside = std::chrono::minutes(60);  // the same while it loads or stores
  Nanos abandon_grace = std::chrono::seconds(30);    // for the current step to end
  Nanos silence = std::chrono::seconds(60);          // longest gap between heartbeats if busy
  Nanos hello_grace = std::chrono::seconds(120);     // for all workers to say hello, from the start
                                                     // or the last loss of one that is replaced
  /// Fresh cells that are expected to take less together are assigned as one attempt. Its end is
  /// theirs; without a result it does not count, and each is tried alone. 0: none are.
  Nanos together{0};
};

/// A cell that this run leaves planned.
struct LeftCell {
  enum class Why { no_worker, wrong_server, no_time, drained, workers_lost, machine_fault };
  int cell;
  Why why;
  std::string reason;
};

/// Cells of one SKU.
struct SkuStatus {
  std::string sku;
  int waiting = 0;
  int running = 0;
  int over = 0;     // done or ended without a result
  int workers = 0;  // alive and able to run them
  /// Time until all of them are over if the workers share the work evenly. Sums the estimates,
  /// scaled by measured over estimated time of the cells that are done. Empty while unknown.
  std::optional<double> eta_s;
};

struct FarmStatus {
  int cells = 0;
  int done = 0;
  int ended = 0;  // without a result: failed, timed out, infeasible, quarantined
  int waiting = 0;
  int running = 0;  // attempts
  bool draining = false;
  Nanos now{0};
  std::vector<SkuStatus> skus{};
};

/// A message from a worker, or to one.
template <class Message>
struct Letter {
  int worker;
  Message message;
};

// Events -------------------------------------------------------------------------------------

struct Tick {};
struct Drain {};    // start nothing more; running cells end if the deadline allows
struct StopNow {};  // abandon what runs

using Event = std::variant<Letter<worker::Hello>, Letter<worker::Heartbeat>, Letter<worker::Done>,
                           Letter<worker::Failed>, Letter<worker::Abandoned>, worker::GoneEnd, Tick,
                           Drain, StopNow>;

// Commands -----------------------------------------------------------------------------------

struct AssignCell {
  int worker;
  sweep::Attempt attempt;
  std::vector<int> more{};   // cells that share the attempt, whose number is then 0, and its end
  int deaths = 0;            // of its process, in earlier attempts at this cell
  bool keep_memory = false;  // the worker's host memory stays when the cell is done
};
/// An attempt failed and the cell will be retried, or it was abandoned and the cell stays planned.
struct AttemptEnded {
  sweep::Attempt attempt;
  int deaths;  // of its process in this and earlier attempts at this cell
  std::string reason;
};
/// The cell is over without a result.
struct CellEnded {
  sweep::Attempt attempt;  // the last one, in this run or an earlier one
  sweep::CellStatus kind;
  std::string reason;
};

using Command = std::variant<AssignCell, Letter<worker::Abandon>, Letter<worker::Stop>,
                             AttemptEnded, CellEnded>;

}  // namespace driver
