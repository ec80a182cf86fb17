#pragma once
#include <map>
#include <string>

namespace driver {

/// Host memory of each node: what running cells hold, and what workers keep from one cell to the
/// next. The charges on a node never exceed its capacity.
class MemoryLedger {
 public:
  /// If the workers of a node report different capacities, the smallest counts.
  void add_node(const std::string& node, double capacity_gib);
  double capacity_gib(const std::string& node) const { return nodes_.at(node).capacity_gib; }
  double used_gib(const std::string& node) const;

  /// Memory that the worker keeps already counts towards the cell.
  bool fits(const std::string& node, int worker, double gib) const;
  /// Whether the worker may keep its memory after a cell of `gib`: only if a cell of `largest_gib`
  /// could still start on any worker of the node once the others are idle.
  bool may_keep(const std::string& node, int worker, double gib, double largest_gib) const;
  /// A cell of `gib` starts on `worker`; the caller has checked fits(). `keep`: the worker keeps
  /// its memory when the cell is done.
  void charge(const std::string& node, int worker, double gib, bool keep = false);
  /// The cell is done: the worker holds only the memory that it keeps.
  void end(int worker);
  /// The worker holds no memory.
  void release(int worker);

 private:
  struct Charge {
    double gib = 0;       // held at present
    double kept_gib = 0;  // held once its cell is done
  };
  struct Node {
    double capacity_gib;
    std::map<int, Charge> charges;  // by worker
    double kept_gib(int worker) const;
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace driver
