#pragma once
#include <map>
#include <string>
#include <vector>

namespace naive {

/// A priority of the tokens [begin, end) for some milliseconds after their release; -1: for ever.
struct Retained {
  int begin, end, priority, lasts_ms;
};

struct EvictionConfig {
  std::string rule;  // empty: the order of release
  int num_blocks, block_size;
  double protected_fraction;
  bool counts_jobs;
  int spare_tokens;
  std::vector<Retained> retained, generated;
  double cost_growth;  // a token
};

struct Turn {
  int job, turn;
  bool last, finished;
  int prompt, tokens;
};

/// The rules of eviction, with a search for every answer.
class Eviction {
 public:
  explicit Eviction(const EvictionConfig& config) : config_(config) {}
  bool ranks() const { return !config_.rule.empty(); }

  /// `before` is the block that the turn's i-th block continues; 0: none.
  void registered(int block, int before, int i, const Turn& turn);
  void hit(int block, int before, int i, const Turn& turn);
  void released(const std::vector<int>& table, const Turn& turn, int now_ms);
  void freed(int block);
  void lost(int block) { held_.erase(block); }
  /// The next of these free blocks to be evicted.
  int victim(const std::vector<int>& free, int now_ms) const;
  void evicted(int block);

 private:
  struct Held {
    int content = 0, before = 0;  // counted since the start; the content that it continues
    int released = 0;
    int job = 0, turn = 0;  // that used it last
    bool found = false;     // slru
    bool needed = true;     // tail_lru
    bool given = false;     // retention_priority
    int priority = 35, until_ms = -1;
    int computed_by = 0;  // session_close: a job
    bool shared = false, closed = false;
    int uses = 0;  // cost_aware
    double worth = 0;
  };
  double rank(const Held& held, int now_ms) const;
  void give_priority(Held& held, int token, const Turn& turn, int now_ms) const;
  void use(Held& held, int i);

  EvictionConfig config_;
  std::map<int, Held> held_;    // blocks with content
  std::vector<int> protected_;  // slru: free blocks that were found, in order of release
  int contents_ = 0, releases_ = 0;
  double new_tokens_ = 0;
  int turns_ = 0;
  double evicted_worth_ = 0;
};

}  // namespace naive
