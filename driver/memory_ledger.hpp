#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace driver {

/// The most host memory that cells of these sizes take of one node at once: the largest first, as
/// many as fit beside each other.
double most_at_once_gib(std::vector<double> cells_gib, double node_gib);

/// Host memory of the nodes, as running cells hold it. Never more than a node's capacity is given.
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

  bool fits(const std::string& node, int cell, double gib) const;
  /// `cell` starts on `worker`; the caller has asked fits(). Ends the cell's reservation.
  void charge(const std::string& node, int worker, int cell, double gib);
  void release(int worker);

  /// Does nothing when the node has a reservation, or the cell one on another node.
  void reserve(const std::string& node, int cell, double gib);
  std::optional<int> reserved_for(const std::string& node) const;
  void cancel_reservation_on(const std::string& node);
  void cancel_reservation_of(int cell);

 private:
  struct Charge {
    double gib;
    bool beside_reservation;  // started while the present reservation stood
  };
  struct Reservation {
    int cell;
    double gib;
  };
  struct Node {
    double capacity_gib;
    std::map<int, Charge> charges;  // by worker
    std::optional<Reservation> reservation;
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace driver
