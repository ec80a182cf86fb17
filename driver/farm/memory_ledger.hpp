#pragma once
#include <map>
#include <optional>
#include <string>

namespace driver {

struct MemoryNeed {
  int cell;
  double gib;
};

/// Host memory of each node: what running cells hold, and what workers keep from one cell to the
/// next. The charges on a node never exceed its capacity.
///
/// A cell that does not fit can reserve a node. Other cells then start there only in the memory
/// that the reservation leaves, so the cell starts once the cells that ran already have ended. A
/// node has at most one reservation, and a cell reserves at most one node.
class MemoryLedger {
 public:
  /// If the workers of a node report different capacities, the smallest counts.
  void add_node(const std::string& node, double capacity_gib);
  double capacity_gib(const std::string& node) const { return nodes_.at(node).capacity_gib; }
  double used_gib(const std::string& node) const;

  /// Memory that the worker keeps already counts towards the cell.
  bool fits(const std::string& node, int worker, const MemoryNeed& need) const;
  /// Whether the worker may keep its memory after a cell of `gib`: only if a cell of `largest_gib`
  /// could still start on any worker of the node once the others are idle.
  bool may_keep(const std::string& node, int worker, double gib, double largest_gib) const;
  /// The cell starts on `worker`; the caller has checked fits(). Ends the cell's reservation.
  /// `keep`: the worker keeps its memory when the cell is done.
  void charge(const std::string& node, int worker, const MemoryNeed& need, bool keep = false);
  /// The cell is done: the worker holds only the memory that it keeps.
  void end(int worker);
  /// The worker holds no memory.
  void release(int worker);

  /// Does nothing if the node already has a reservation or the cell already reserves a node.
  void reserve(const std::string& node, const MemoryNeed& need);
  std::optional<int> reserved_for(const std::string& node) const;
  void cancel_reservation_on(const std::string& node);
  void cancel_reservation_of(int cell);

 private:
  struct Charge {
    double gib = 0;                   // held at present
    double kept_gib = 0;              // held once its cell is done
    bool beside_reservation = false;  // started after the node's reservation was made
  };
  struct Node {
    double capacity_gib;
    std::map<int, Charge> charges;  // by worker
    std::optional<MemoryNeed> reservation;
    double kept_gib(int worker) const;
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace driver
