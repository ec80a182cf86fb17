#include "driver/farm/memory_ledger.hpp"

#include <algorithm>

namespace driver {

void MemoryLedger::add_node(const std::string& node, double capacity_gib) {
  const auto [at, added] = nodes_.try_emplace(node, Node{capacity_gib, {}, {}});
  if (!added) at->second.capacity_gib = std::min(at->second.capacity_gib, capacity_gib);
}

// Recomputed on each call: few workers share a node, and running sums of doubles drift.
double MemoryLedger::used_gib(const std::string& node) const {
  double used = 0;
  for (const auto& [worker, charge] : nodes_.at(node).charges) used += charge.gib;
  return used;
}

double MemoryLedger::Node::kept_gib(int worker) const {
  const auto at = charges.find(worker);
  return at == charges.end() ? 0 : at->second.kept_gib;
}

bool MemoryLedger::fits(const std::string& name, int worker, const MemoryNeed& need) const {
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

bool MemoryLedger::may_keep(const std::string& name, int worker, double gib,
                            double largest_gib) const {
  const Node& node = nodes_.at(name);
  double kept = std::max(gib, node.kept_gib(worker));
  for (const auto& [other, charge] : node.charges)
    if (other != worker) kept += charge.kept_gib;
  return kept + largest_gib <= node.capacity_gib;
}

void MemoryLedger::charge(const std::string& name, int worker, const MemoryNeed& need, bool keep) {
  cancel_reservation_of(need.cell);
  Node& node = nodes_.at(name);
  const double held = std::max(need.gib, node.kept_gib(worker));
  node.charges[worker] = Charge{held, keep ? held : 0, node.reservation.has_value()};
}

void MemoryLedger::end(int worker) {
  for (auto& [name, node] : nodes_) {
    const auto at = node.charges.find(worker);
    if (at == node.charges.end()) continue;
    at->second.gib = at->second.kept_gib;
    at->second.beside_reservation = false;
    if (at->second.gib <= 0) node.charges.erase(at);
  }
}

void MemoryLedger::release(int worker) {
  for (auto& [name, node] : nodes_) node.charges.erase(worker);
}

void MemoryLedger::reserve(const std::string& name, const MemoryNeed& need) {
  for (const auto& [other, node] : nodes_)
    if (node.reservation && (node.reservation->cell == need.cell || other == name)) return;
  Node& node = nodes_.at(name);
  node.reservation = need;
  for (auto& [worker, charge] : node.charges) charge.beside_reservation = false;
}

std::optional<int> MemoryLedger::reserved_for(const std::string& name) const {
  const std::optional<MemoryNeed>& reservation = nodes_.at(name).reservation;
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
