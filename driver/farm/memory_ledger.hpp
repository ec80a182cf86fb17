#pragma once
#include <algorithm>
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
  void add_node(const std::string& node, double capacity_gib) {
    const auto [at, added] = nodes_.try_emplace(node, Node{capacity_gib, {}, {}});
    if (!added) at->second.capacity_gib = std::min(at->second.capacity_gib, capacity_gib);
  }
  double capacity_gib(const std::string& node) const { return nodes_.at(node).capacity_gib; }
  // Recomputed on each call: few workers share a node, and running sums of doubles drift.
  double used_gib(const std::string& node) const {
    double used = 0;
    for (const auto& [worker, charge] : nodes_.at(node).charges) used += charge.gib;
    return used;
  }

  /// Memory that the worker keeps already counts towards the cell.
  bool fits(const std::string& name, int worker, const MemoryNeed& need) const {
    const Node& node = nodes_.at(name);
    const double kept = node.kept_gib(worker), more = need.gib - kept;
    if (more <= 0) return true;
    if (used_gib(name) + more > node.capacity_gib) return false;
    if (!node.reservation || node.reservation->cell == need.cell) return true;
    double beside = 0;
    for (const auto& [other, charge] : node.charges)
      beside += charge.beside_reservation ? charge.gib : charge.kept_gib;
    return beside + more + node.reservation->gib <= node.capacity_gib;
  }
  /// Whether the worker may keep its memory after a cell of `gib`: only if a cell of `largest_gib`
  /// could still start on any worker of the node once the others are idle.
  bool may_keep(const std::string& name, int worker, double gib, double largest_gib) const {
    const Node& node = nodes_.at(name);
    double kept = std::max(gib, node.kept_gib(worker));
    for (const auto& [other, charge] : node.charges)
      if (other != worker) kept += charge.kept_gib;
    return kept + largest_gib <= node.capacity_gib;
  }
  /// The cell starts on `worker`; the caller has checked fits(). Ends the cell's reservation.
  /// `keep`: the worker keeps its memory when the cell is done.
  void charge(const std::string& name, int worker, const MemoryNeed& need, bool keep = false) {
    cancel_reservation_of(need.cell);
    Node& node = nodes_.at(name);
    const double held = std::max(need.gib, node.kept_gib(worker));
    node.charges[worker] = Charge{held, keep ? held : 0, node.reservation.has_value()};
  }
  /// The cell is done: the worker holds only the memory that it keeps.
  void end(int worker) {
    for (auto& [name, node] : nodes_) {
      const auto at = node.charges.find(worker);
      if (at == node.charges.end()) continue;
      at->second.gib = at->second.kept_gib;
      at->second.beside_reservation = false;
      if (at->second.gib <= 0) node.charges.erase(at);
    }
  }
  /// The worker holds no memory.
  void release(int worker) {
    for (auto& [name, node] : nodes_) node.charges.erase(worker);
  }

  /// Does nothing if the node already has a reservation or the cell already reserves a node.
  void reserve(const std::string& name, const MemoryNeed& need) {
    for (const auto& [other, node] : nodes_)
      if (node.reservation && (node.reservation->cell == need.cell || other == name)) return;
    Node& node = nodes_.at(name);
    node.reservation = need;
    for (auto& [worker, charge] : node.charges) charge.beside_reservation = false;
  }
  std::optional<int> reserved_for(const std::string& name) const {
    const std::optional<MemoryNeed>& reservation = nodes_.at(name).reservation;
    return reservation ? std::optional(reservation->cell) : std::nullopt;
  }
  void cancel_reservation_on(const std::string& node) {
    const auto at = nodes_.find(node);
    if (at != nodes_.end()) at->second.reservation.reset();
  }
  void cancel_reservation_of(int cell) {
    for (auto& [name, node] : nodes_)
      if (node.reservation && node.reservation->cell == cell) node.reservation.reset();
  }

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
    double kept_gib(int worker) const {
      const auto at = charges.find(worker);
      return at == charges.end() ? 0 : at->second.kept_gib;
    }
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace driver
