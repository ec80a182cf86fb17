// Evicts what is used last. First what no job uses again; then, from the end of its context, the
// KV of the job whose next turn is expected last, where a turn that runs is taken to end at once;
// then that of the turns that wait, the one served last first. Content of several jobs is used when
// the first of them is. The oracle knows how long tools run, and which turns are the last.
//
// Ranks the jobs once in a step that evicts, O(n log n) in their number, and takes O(log n) for
// each block and job that uses it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/host_eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockHash;
using engine::HostSlot;
using engine::JobId;
using engine::Nanos;
using engine::Request;

class NextUse final : public engine::HostEviction {
 public:
  explicit NextUse(const HostEvictionConfig& config)
      : order_(*config.order),
        calls_(make_estimator(config.estimator)),
        truth_(config.estimator.name == "oracle" ? config.estimator.truth : GapSource()) {}

  void prepare(int num_slots, int slot_blocks, int block_size) override {
    slots_.resize(static_cast<std::size_t>(num_slots));
    slot_blocks_ = slot_blocks;
    block_size_ = block_size;
  }

  std::optional<HostSlot> victim(Nanos now) override {
    if (!unused_.empty()) return HostSlot{unused_.begin()->second};
    if (!ranked_ || now != now_) rank(now);
    for (; !ranking_.empty(); ranking_.pop_back()) {
      const Job& job = jobs_[ranking_.back().job];
      if (job.stored.empty()) continue;
      const Content& last = *job.context[static_cast<std::size_t>(*job.stored.rbegin())];
      if (!slots_[index(last.slot)].held && !used_before(last, job)) return last.slot;
    }
    return std::nullopt;
  }

  void on_stored(HostSlot slot, const BlockHash& hash) override {
    Content& content = content_of(hash);
    content.slot = slot;
    content.stored = true;
    for (const std::uint32_t user : content.users) jobs_[user].stored.insert(content.place);
    slots_[index(slot)] = {&content, false, 0};
    if (content.users.empty()) give_up(content);
    ranked_ = false;
  }
  void on_evicted(HostSlot slot) override { lose(slot); }
  void on_invalid(HostSlot slot) override { lose(slot); }
  void on_held(HostSlot slot) override {
    slots_[index(slot)].held = true;
    unused_.erase({slots_[index(slot)].given_up, index(slot)});
  }
  void on_released(HostSlot slot) override {
    Slot& held = slots_[index(slot)];
    held.held = ranked_ = false;
    if (held.content->users.empty()) unused_.emplace(held.given_up, index(slot));
  }

  void on_arrival(const Request& turn) override {
    calls_.on_arrival(turn);
    Job& job = job_of(turn.spec.job);
    job.turn = Turn::waits;
    job.number = turn.spec.turn;
    job.last = turn.spec.last_turn;
    use(turn, turn.num_prompt() / block_size_);
  }
  void on_lookup(const Request& turn) override {
    job_of(turn.spec.job).turn = Turn::runs;
    ranked_ = false;
  }
  void on_computed(const Request& turn, int blocks) override {
    if (job_of(turn.spec.job).context.size() < static_cast<std::size_t>(blocks / slot_blocks_))
      use(turn, blocks);
  }
  void on_turn_finish(const Request& turn, Nanos now) override {
    Job& job = job_of(turn.spec.job);
    job.turn = Turn::away;
    use(turn, turn.spec.last_turn ? 0 : turn.num_computed_tokens / block_size_);
    if (!turn.spec.last_turn) calls_.start(turn, now);
  }

 private:
  struct HashOf {
    std::size_t operator()(const BlockHash& hash) const { return hash.low; }
  };
  /// A content that is stored, or used by a job.
  struct Content {
    BlockHash hash{};
    int place = 0;  // in every context that has it
    bool stored = false;
    HostSlot slot{};
    std::vector<std::uint32_t> users{};  // jobs
  };
  struct Slot {
    Content* content = nullptr;
    bool held = true;
    std::uint64_t given_up = 0;  // in which order it came to be used by no job
  };
  enum class Turn : std::uint8_t {
    away,   // its tool runs
    waits,  // and has not been looked up; from then on it waits if the queue shows it
    runs,
  };
  struct Job {
    std::vector<Content*> context;
    std::set<int> stored;  // places of the context
    Turn turn = Turn::away;
    int number = 0;  // of the turn that waits or runs
    bool last = false;
    std::size_t use = 0;  // among all jobs: 0 is used first
  };

  Job& job_of(JobId id) {
    if (index(id) >= jobs_.size()) jobs_.resize(index(id) + 1);
    return jobs_[index(id)];
  }
  Content& content_of(const BlockHash& hash) {
    Content& content = contents_[hash];
    content.hash = hash;
    return content;
  }

  /// The job uses the KV of the turn's first blocks, and no other.
  void use(const Request& turn, int blocks) {
    const std::uint32_t id = index(turn.spec.job);
    const int slots = blocks / slot_blocks_;
    const auto hash = [&](int i) { return turn.block_hash((i + 1) * slot_blocks_ - 1); };
    Job& job = job_of(turn.spec.job);
    int same = 0;
    const int most = std::min(slots, static_cast<int>(job.context.size()));
    while (same < most && job.context[static_cast<std::size_t>(same)]->hash == hash(same)) ++same;
    while (static_cast<int>(job.context.size()) > same) drop_last(job, id);
    for (int i = same; i < slots; ++i) add(job, id, content_of(hash(i)));
    job.context.empty() ? static_cast<void>(live_.erase(id)) : static_cast<void>(live_.insert(id));
    ranked_ = false;
  }
  void add(Job& job, std::uint32_t id, Content& content) {
    content.place = static_cast<int>(job.context.size());
    content.users.push_back(id);
    job.context.push_back(&content);
    if (!content.stored) return;
    job.stored.insert(content.place);
    unused_.erase({slots_[index(content.slot)].given_up, index(content.slot)});
  }
  void drop_last(Job& job, std::uint32_t id) {
    Content& content = *job.context.back();
    job.context.pop_back();
    job.stored.erase(content.place);
    std::erase(content.users, id);
    if (!content.users.empty()) return;
    content.stored ? give_up(content) : static_cast<void>(contents_.erase(BlockHash(content.hash)));
  }
  /// No job uses the stored content any more.
  void give_up(const Content& content) {
    Slot& slot = slots_[index(content.slot)];
    slot.given_up = ++given_up_;
    if (!slot.held) unused_.emplace(slot.given_up, index(content.slot));
  }
  void lose(HostSlot slot) {
    Content& content = *std::exchange(slots_[index(slot)].content, nullptr);
    unused_.erase({slots_[index(slot)].given_up, index(slot)});
    slots_[index(slot)].held = true;
    content.stored = false;
    for (const std::uint32_t user : content.users) jobs_[user].stored.erase(content.place);
    if (content.users.empty()) contents_.erase(BlockHash(content.hash));
  }

  bool used_before(const Content& content, const Job& by) const {
    return std::ranges::any_of(content.users,
                               [&](std::uint32_t user) { return jobs_[user].use < by.use; });
  }
  /// If its tool started now; last turns of the oracle never return.
  Nanos returns(std::uint32_t id, Nanos now) const {
    const Job& job = jobs_[id];
    if (job.turn == Turn::away) return calls_.returns_by(JobId{id}, 0.5, now);
    if (!truth_) return now + calls_.mean();
    return job.last ? Nanos::max() : now + std::max(Nanos{0}, truth_(JobId{id}, job.number));
  }
  void rank(Nanos now) {
    constexpr auto kHeldBack = std::numeric_limits<std::uint32_t>::max();
    std::unordered_map<std::uint32_t, std::uint32_t> queue;
    for (const Request* turn : order_.in_service_order())
      queue.emplace(index(turn->spec.job), static_cast<std::uint32_t>(queue.size()));
    ranking_.clear();
    for (const std::uint32_t id : live_) {
      const auto in_queue = queue.find(id);
      if (in_queue != queue.end())
        ranking_.push_back({false, Nanos{0}, in_queue->second, id});
      else if (jobs_[id].turn == Turn::waits)
        ranking_.push_back({false, Nanos{0}, kHeldBack, id});
      else
        ranking_.push_back({true, returns(id, now), id, id});
    }
    std::ranges::sort(ranking_, std::less{});
    for (std::size_t i = 0; i < ranking_.size(); ++i) jobs_[ranking_[i].job].use = i;
    ranked_ = true;
    now_ = now;
  }

  const engine::QueueOrder& order_;
  ToolCalls calls_;
  GapSource truth_;
  int slot_blocks_ = 1, block_size_ = 1;
  std::unordered_map<BlockHash, Content, HashOf> contents_;
  std::vector<Slot> slots_;
  std::vector<Job> jobs_;                                     // by id
  std::set<std::uint32_t> live_;                              // jobs with a context
  std::set<std::pair<std::uint64_t, std::uint32_t>> unused_;  // within reach, used by no job
  std::uint64_t given_up_ = 0;
  std::vector<NextUseOfJob>
      ranking_;  // jobs that may have something to evict, that used last at the end
  bool ranked_ = false;
  Nanos now_{0};
};

}  // namespace

HostRuleEntry host_next_use_rule() { return {"next_use", HostRuleEntry::makes<NextUse>}; }

HostRuleEntry host_oracle_rule() {
  return {"oracle", [](const HostEvictionConfig& config) {
            HostEvictionConfig told = config;
            told.estimator.name = "oracle";
            told.estimator.error = {};
            return HostRuleEntry::makes<NextUse>(told);
          }};
}

}  // namespace policies
