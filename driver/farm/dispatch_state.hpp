#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "driver/farm/dispatch_messages.hpp"

namespace driver {

/// Private to the dispatcher: what it knows of cells and workers.
struct DispatchState {
  enum class CellState { waiting, running, over, left };
  enum class WorkerState { idle, busy, lost, unusable };
  enum class AbandonWhy { timeout, stalled, drain };

  /// Measured and estimated run time of the cells that are done.
  struct Experience {
    int cells = 0;
    double taken_s = 0;
    double estimated_s = 0;
  };
  /// Longest first, then by group and in plan order.
  struct Place {
    double minus_estimate_s;
    int group;
    int cell;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Cell {
    explicit Cell(const CellTask& task) : task(task) {}
    CellTask task;
    CellState state = CellState::waiting;
    int tries = 0;
    int machine_faults = 0;  // tries that ended by one
    std::set<int> tried_on;
    std::optional<LeftCell> left;
    Place place() const {
      return {-std::max(task.group_s, task.estimate_s), task.group, task.cell};
    }
  };
  struct Abandonment {
    AbandonWhy why;
    Nanos asked;  // on the listening clock
  };
  struct Run {
    sweep::Attempt attempt;
    std::vector<int> more;  // cells of the same attempt
    Nanos started;
    Nanos progressed;  // on the listening clock
    Nanos heartbeat;   // the last, or the start
    worker::Progress progress{};
    std::optional<Abandonment> abandonment{};
    std::vector<int> cells() const {
      std::vector<int> all = more;
      all.push_back(attempt.cell);
      return all;
    }
  };
  struct Worker {
    explicit Worker(worker::Hello hello) : hello(std::move(hello)) {}
    worker::Hello hello;
    WorkerState state = WorkerState::idle;
    std::optional<Run> run;  // busy: its cell; lost: the cell that it may still run
    Nanos heard{0};          // on the listening clock
    bool is_alive() const { return state == WorkerState::idle || state == WorkerState::busy; }
  };
};

}  // namespace driver
