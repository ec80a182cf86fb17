#include "driver/memory_ledger.hpp"

#include <algorithm>
#include <functional>

namespace driver {

double most_at_once_gib(std::vector<double> cells_gib, double node_gib) {
  std::sort(cells_gib.begin(), cells_gib.end(), std::greater<>());
  double used = 0;
  for (const double gib : cells_gib)
    if (used + gib <= node_gib) used += gib;
  return used;
}

void MemoryLedger::add_node(const std::string& node, double capacity_gib) {
  const auto [at, added] = nodes_.try_emplace(node, Node{capacity_gib, {}, {}});
  if (!added) at->second.capacity_gib = std::min(at->second.capacity_gib, capacity_gib);
}

// Summed anew each time: few workers share a node, and running sums of doubles drift.
double MemoryLedger::used_gib(const std::string& node) const {
  double used = 0;
  for (const auto& [worker, charge] : nodes_.at(node).charges) used += charge.gib;
  return used;
}

bool MemoryLedger::fits(const std::string& name, int cell, double gib) const {
  if (gib <= 0) return true;
  const Node& node = nodes_.at(name);
  if (used_gib(name) + gib > node.capacity_gib) return false;
  if (!node.reservation || node.reservation->cell == cell) return true;
  double beside = 0;
  for (const auto& [worker, charge] : node.charges)
    if (charge.beside_reservation) beside += charge.gib;
  return beside + gib + node.reservation->gib <= node.capacity_gib;
}

void MemoryLedger::charge(const std::string& name, int worker, int cell, double gib) {
  cancel_reservation_of(cell);
  Node& node = nodes_.at(name);
  node.charges[worker] = Charge{gib, node.reservation.has_value()};
}

void MemoryLedger::release(int worker) {
  for (auto& [name, node] : nodes_) node.charges.erase(worker);
}

void MemoryLedger::reserve(const std::string& name, int cell, double gib) {
  for (const auto& [other, node] : nodes_)
    if (node.reservation && (node.reservation->cell == cell || other == name)) return;
  Node& node = nodes_.at(name);
  node.reservation = Reservation{cell, gib};
  for (auto& [worker, charge] : node.charges) charge.beside_reservation = false;
}

std::optional<int> MemoryLedger::reserved_for(const std::string& name) const {
  const std::optional<Reservation>& reservation = nodes_.at(name).reservation;
  return reservation ? std::optional(reservation->cell) : std::nullopt;
}

void MemoryLedger::cancel_reservation_on(const std::string& node) {
  const auto at = nodes_.find(node);
  if (at != nodes_.end()) at->second.reservation.reset();
}

void MemoryLedger::cancel_reservation_of(int cell) {
  for (auto& [name, node] : nodes_)
    if (node.reservation && node.reservation->cell == cell) node.reservation.reset();
}

}  // namespace driver
