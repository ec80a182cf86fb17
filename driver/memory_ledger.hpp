#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace driver {

/// The most host memory that cells of these sizes take of one node at once: the largest first, as
/// many as fit beside each other.
double most_at_once_gib(std::vector<double> cells_gib, double node_gib);

/// Host memory of the nodes, as running cells hold it, and as workers keep it from one cell to the
/// next. Never more than a node's capacity is given.
///
/// A cell that finds too little can reserve: from then on other cells start on that node only in
/// what it would leave, so that it starts once those that ran before have ended. One cell at most
/// reserves on a node, and a cell on one node.
class MemoryLedger {
 public:
  /// Several workers of a node may say different capacities: the least counts.
  void add_node(const std::string& node, double capacity_gib);
  double capacity_gib(const std::string& node) const { return nodes_.at(node).capacity_gib; }
  double used_gib(const std::string& node) const;

  /// What the worker holds already counts towards the cell.
  bool fits(const std::string& node, int worker, int cell, double gib) const;
  /// Whether the worker may keep what a cell of that size leaves it with: not if some cell, of
  /// `largest_gib` at most, could then not start on whichever worker once all others are idle.
  bool may_keep(const std::string& node, int worker, double gib, double largest_gib) const;
  /// `cell` starts on `worker`; the caller has asked fits(). Ends the cell's reservation. `keep`:
  /// the worker will not give its memory back when the cell is done.
  void charge(const std::string& node, int worker, int cell, double gib, bool keep = false);
  /// The cell is done, and the worker holds no more than what it keeps.
  void end(int worker);
  /// The worker holds nothing.
  void release(int worker);

  /// Does nothing when the node has a reservation, or the cell one on another node.
  void reserve(const std::string& node, int cell, double gib);
  std::optional<int> reserved_for(const std::string& node) const;
  void cancel_reservation_on(const std::string& node);
  void cancel_reservation_of(int cell);

 private:
  struct Charge {
    double gib = 0;                   // held now
    double kept_gib = 0;              // held once its cell is done
    bool beside_reservation = false;  // started while the present reservation stood
  };
  struct Reservation {
    int cell;
    double gib;
  };
  struct Node {
    double capacity_gib;
    std::map<int, Charge> charges;  // by worker
    std::optional<Reservation> reservation;
    double kept_gib(int worker) const;
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace driver
