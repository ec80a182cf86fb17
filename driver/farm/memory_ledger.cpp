#include "driver/farm/memory_ledger.hpp"

#include <algorithm>

namespace driver {

void MemoryLedger::add_node(const std::string& node, double capacity_gib) {
  const auto [at, added] = nodes_.try_emplace(node, Node{capacity_gib, {}});
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

bool MemoryLedger::fits(const std::string& name, int worker, double gib) const {
  const Node& node = nodes_.at(name);
  const double more = gib - node.kept_gib(worker);
  return more <= 0 || used_gib(name) + more <= node.capacity_gib;
}

bool MemoryLedger::may_keep(const std::string& name, int worker, double gib,
                            double largest_gib) const {
  const Node& node = nodes_.at(name);
  double kept = std::max(gib, node.kept_gib(worker));
  for (const auto& [other, charge] : node.charges)
    if (other != worker) kept += charge.kept_gib;
  return kept + largest_gib <= node.capacity_gib;
}

void MemoryLedger::charge(const std::string& name, int worker, double gib, bool keep) {
  Node& node = nodes_.at(name);
  const double held = std::max(gib, node.kept_gib(worker));
  node.charges[worker] = Charge{held, keep ? held : 0};
}

void MemoryLedger::end(int worker) {
  for (auto& [name, node] : nodes_) {
    const auto at = node.charges.find(worker);
    if (at == node.charges.end()) continue;
    at->second.gib = at->second.kept_gib;
    if (at->second.gib <= 0) node.charges.erase(at);
  }
}

void MemoryLedger::release(int worker) {
  for (auto& [name, node] : nodes_) node.charges.erase(worker);
}

}  // namespace driver
