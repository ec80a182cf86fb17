#pragma once
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/naive_eviction.hpp"

/// A second implementation of the scheduling rules, written for obviousness alone: every lookup is
/// a search, nothing is hashed, and a block's content is identified by all tokens up to its end.
/// Shares no code and no types with the engine.
namespace naive {

struct Config {
  int num_blocks;  // including the null block 0
  int block_size;
  bool prefix_caching;
  bool partial_blocks_first;
  int token_budget;
  int max_num_seqs;
  int max_model_len;
  int prefill_threshold;  // 0: none
  bool newest;            // as vLLM 0.33
  bool adaptive_threshold;
  int watermark;  // blocks
  bool chunked_prefill;
  bool reserve_full_sequence;
  bool by_priority;  // otherwise first come, first served
  int step_ms;
  bool async;  // a step is applied after the next is scheduled
  EvictionConfig eviction;
};

struct Request {
  int id;
  int priority;
  double arrival;
  std::vector<int> tokens;   // prompt, then outputs so far
  std::vector<int> outputs;  // to come, in order
  int job, turn;
  bool last_turn;
  // State of the model.
  std::vector<int> table{};
  int prompt = 0;
  int computed = 0;
  int cached_blocks = 0;
  bool preempted = false;
  bool ended = false;
  int in_flight = 0;  // tokens sampled and not applied
};

struct Share {
  int id;
  std::string kind;
  int num_tokens;
  int computed_before;
  std::vector<int> table;
  bool samples = false;
  bool operator==(const Share& other) const {
    return std::tie(id, kind, num_tokens, computed_before, table) ==
           std::tie(other.id, other.kind, other.num_tokens, other.computed_before, other.table);
  }
};

/// A step's decisions, with queues and the free list after scheduling.
struct Step {
  std::vector<Share> scheduled;
  std::vector<int> preempted, waiting, running, evicted, free_list;
  std::vector<int> finished, free_list_after;
  int distinct_contents = 0;  // after the step
  bool operator==(const Step&) const = default;
};

std::string to_string(const Step& step);

class Model {
 public:
  explicit Model(const Config& config);
  void submit(const Request& request);
  void abort(int id);
  Step step();

 private:
  using Content = std::vector<int>;  // all tokens from the first to the end of the block

  void schedule_running(Step& step);
  void choose_threshold();
  bool make_room(Request& request, int num_tokens, Step& step);
  void admit_waiting(Step& step);
  void sample(Step& step);
  void apply(const std::vector<Share>& shares, Step& step);
  void cache_full(Request& request, int tokens);

  bool allocate(Request& request, int num_tokens, const std::vector<int>& hits, int reserve,
                int spare = 0);
  void preempt(int id, Step& step);
  void free(Request& request);
  std::vector<int> find_hits(const Request& request) const;
  int victim() const;
  void sort_waiting();
  int budget_left(const Step& step) const;
  int wanted(const Request& request, int computed) const;
  int blocks_for(int tokens) const;
  void uncache(int block);
  bool is_cached(int block) const;
  Turn turn_of(const Request& request, bool finished) const;
  void rank_victims(int wanted);

  int threshold_ = 0;
  Config config_;
  std::map<int, Request> requests_;
  std::vector<int> waiting_, running_;           // ids
  std::vector<int> free_;                        // blocks, next to be allocated first
  std::map<int, int> refs_;                      // by block
  std::vector<std::pair<Content, int>> cached_;  // content and block, oldest first
  std::vector<int> evicted_;
  Eviction eviction_;
  int now_ms_ = 0;
  std::vector<std::vector<Share>> flights_;  // async: scheduled and not applied
};

}  // namespace naive
