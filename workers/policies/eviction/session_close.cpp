// The client says with a job's last turn that the session is over, and only that: what no other job
// has used of its KV is evicted first, all other KV in the order of release (SGLang's close of a
// session, sglang#27058).
#include <vector>

#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

class SessionClose final : public engine::EvictionRule {
 public:
  void prepare(int num_blocks, int) override {
    blocks_.resize(static_cast<std::size_t>(num_blocks) + 1);
  }
  engine::EvictionRank rank(BlockId block, Nanos) const override {
    return {blocks_[index(block)].closed ? 0.0 : 1.0};
  }
  void on_registered(const Request& turn, int i) override { of(turn, i) = {.job = turn.spec.job}; }
  void on_hit(const Request& turn, int i) override {
    Block& block = of(turn, i);
    block.shared |= block.job != turn.spec.job;
    block.closed = false;
  }
  void on_released(const Request& turn, Nanos) override {
    if (turn.status != engine::RequestStatus::finished || !turn.spec.last_turn) return;
    for (const BlockId id : turn.blocks) blocks_[index(id)].closed = !blocks_[index(id)].shared;
  }

 private:
  struct Block {
    engine::JobId job{};  // that computed the content
    bool shared = false;  // another job has used it
    bool closed = false;
  };
  Block& of(const Request& turn, int i) {
    return blocks_[index(turn.blocks[static_cast<std::size_t>(i)])];
  }

  std::vector<Block> blocks_;
};

}  // namespace

RuleEntry session_close_rule() { return {"session_close", RuleEntry::makes<SessionClose>}; }

}  // namespace policies
