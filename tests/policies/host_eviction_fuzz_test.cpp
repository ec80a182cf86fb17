#include <deque>
#include <functional>
#include <optional>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/engine/support/host_slots.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/policies/naive_host_eviction.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/block_hash.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/factory.hpp"

using namespace support;
using engine::ContentId;
using engine::HostSlot;
using engine::Nanos;
using engine::Request;

namespace {

constexpr int kFuzzBlock = 2, kFuzzJobs = 5;

/// Turns at random over a host pool, whose victims are those of a naive model of the rule.
class HostFuzz {
 public:
  HostFuzz(const std::string& rule, std::uint64_t seed)
      : dice_(seed),
        slot_blocks_(dice_.any({1, 1, 2})),
        slots_(dice_.between(1, 12)),
        order_(policies::make_order({.order = dice_.any({"fcfs", "job_fcfs"})})),
        oracle_(rule == "oracle") {
    policies::HostEvictionConfig config{.order = order_.get()};
    config.estimator.truth = [](engine::JobId job, int turn) { return gap(job, turn); };
    if (oracle_) config.estimator.name = "oracle";
    calls_.emplace(policies::make_estimator(config.estimator));
    rule_ = policies::host_evictions().make(rule, config);
    if (rule_) rule_->prepare(slots_, slot_blocks_, kFuzzBlock);
    pool_.emplace(slots_, numbers_, rule_.get(), rule == "arc");
    model_ = make_model(rule);
  }

  int play() {
    for (int i = 0; i < 150; ++i) {
      now_ += Nanos{dice_.any({0, 0, 1, 40})};
      const int job = dice_.between(0, kFuzzJobs - 1);
      Job& of = jobs_[job];
      if (of.turn == nullptr) {
        arrive(job);
      } else if (!of.running) {
        if (!dice_.one_in(3)) run(job);
      } else {
        dice_.one_in(4) ? finish(job) : compute(job);
      }
    }
    return evictions_;
  }

 private:
  struct Job {
    Request* turn = nullptr;
    bool running = false, last = false;
    int number = 0;
    int computed = 0;  // blocks of the turn
    int used = 0;      // contents
    Tokens context;
    std::vector<int> held;  // contents
  };

  static Nanos gap(engine::JobId job, int turn) {
    return Nanos{1 + (index(job) * 7 + turn * 13u) % 50};
  }

  std::unique_ptr<naive::HostRule> make_model(const std::string& rule) {
    if (rule == "lru") return std::make_unique<naive::Lru>();
    if (rule == "arc") return std::make_unique<naive::Arc>(slots_);
    return std::make_unique<naive::NextUse>([this](int job) { return next_use(job); });
  }
  naive::Use next_use(int job) {
    const Job& of = jobs_[job];
    const engine::JobId id{static_cast<std::uint32_t>(job)};
    const auto place = static_cast<std::uint32_t>(job);
    const auto queue = order_->in_service_order();
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (queue[i] == of.turn) return {false, Nanos{0}, static_cast<std::uint32_t>(i)};
    if (of.turn == nullptr) return {true, calls_->returns_by(id, 0.5, now_), place};
    if (!oracle_) return {true, now_ + calls_->mean(), place};
    return {true, of.last ? Nanos::max() : now_ + gap(id, of.number), place};
  }

  // What happens to turns.
  void arrive(int job) {
    Job& of = jobs_[job];
    if (of.last || dice_.one_in(6)) of.context.clear();
    Tokens& prompt = prompts_.emplace_back(of.context);
    for (int more = dice_.between(1, 5); more > 0; --more)
      prompt.push_back(static_cast<engine::TokenId>(dice_.one_in(4) ? dice_.between(0, 2) : 0));
    Request& turn = turns_.emplace_back();
    turn.spec.job = engine::JobId{static_cast<std::uint32_t>(job)};
    turn.spec.turn = ++of.number;
    turn.spec.last_turn = of.last = dice_.one_in(5);
    turn.spec.prompt = prompt;
    turn.spec.arrival = turn.spec.job_arrival = now_;
    engine::hash_full_blocks(turn, kFuzzBlock);
    of.turn = &turn;
    of.running = false;
    order_->push(turn);
    calls_->on_arrival(turn);
    if (rule_) rule_->on_arrival(turn);
    use(job, turn.num_prompt() / kFuzzBlock / slot_blocks_);
  }
  void run(int job) {
    Job& of = jobs_[job];
    of.running = true;
    of.computed = 0;
    order_->remove(*of.turn);
    if (rule_) rule_->on_lookup(*of.turn);
    const auto prompt = contents(*of.turn, of.turn->num_prompt() / kFuzzBlock / slot_blocks_);
    model_->looked_up(prompt);
    std::vector<ContentId> sought;
    for (const int content : prompt) sought.push_back(ids_[static_cast<std::size_t>(content)]);
    pool_->look_up(sought);
    for (const int content : prompt) {
      const ContentId id = ids_[static_cast<std::size_t>(content)];
      if (!pool_->has(id)) break;
      std::erase(released_, content);
      pool_->begin_read(id);
      of.held.push_back(content);
    }
  }
  /// Computes some blocks, generates a token, or lets go of what was looked up.
  void compute(int job) {
    Job& of = jobs_[job];
    if (dice_.one_in(3)) return let_go(of);
    if (dice_.one_in(2))
      engine::append_output(*of.turn, static_cast<engine::TokenId>(dice_.between(0, 1)), 1000,
                            kFuzzBlock);
    const int blocks = dice_.between(of.computed, of.turn->num_tokens() / kFuzzBlock);
    if (blocks > of.computed) use(job, std::max(of.used, blocks / slot_blocks_));
    if (blocks > of.computed && rule_) rule_->on_computed(*of.turn, blocks);
    for (const int content : contents(*of.turn, blocks / slot_blocks_)) store(content);
    of.computed = blocks;
  }
  void finish(int job) {
    Job& of = jobs_[job];
    let_go(of);
    Request& turn = *of.turn;
    turn.num_computed_tokens = turn.num_tokens() - 1;
    use(job, of.last ? 0 : turn.num_computed_tokens / kFuzzBlock / slot_blocks_);
    if (rule_) rule_->on_turn_finish(turn, now_);
    if (!of.last) calls_->start(turn, now_);
    of.context.clear();
    for (int i = 0; i < turn.num_tokens(); ++i) of.context.push_back(turn.token(i));
    of.turn = nullptr;
  }
  void use(int job, int count) {
    jobs_[job].used = count;
    model_->uses(job, contents(*jobs_[job].turn, count));
  }
  /// The first contents of the turn, each of which fills a slot, by their numbers.
  naive::Context contents(const Request& turn, int count) {
    std::vector<ContentId> blocks;
    numbers_.number_contents(blocks, turn.block_hashes(), 0);
    naive::Context all;
    for (int i = 1; i <= count; ++i) {
      const ContentId id = blocks[static_cast<std::size_t>(i * slot_blocks_ - 1)];
      const auto known = std::ranges::find(ids_, id);
      all.push_back(static_cast<int>(known - ids_.begin()));
      if (known == ids_.end()) ids_.push_back(id);
    }
    return all;
  }

  // What happens to slots.
  /// What a load finds invalid leaves when the last lookup lets go of it.
  void let_go(Job& of) {
    for (const int content : of.held) {
      const ContentId id = ids_[static_cast<std::size_t>(content)];
      const engine::HostEntry& entry = *pool_->find(id);
      const bool last = entry.readers == 1;
      const bool intact = !dice_.one_in(20);
      const bool stays = intact && !entry.lost;
      const HostSlot slot = pool_->slot_of(entry);
      pool_->end_read(slot, intact);
      if (!last) continue;
      if (stays) {
        released_.push_back(content);
      } else {
        model_->invalid(content);
        in_slot_.erase(index(slot));
      }
    }
    of.held.clear();
  }
  void store(int content) {
    const ContentId id = ids_[static_cast<std::size_t>(content)];
    if (pool_->knows(id)) return;
    const bool evicts = pool_->num_used() == slots_;
    const int expected = evicts && !released_.empty() ? model_->victim(released_) : -1;
    const auto slot = pool_->reserve(id, now_);
    if (slot.has_value() == (evicts && released_.empty()))
      throw std::logic_error("a slot is taken exactly where one is empty or can be emptied");
    if (!slot) return;
    if (evicts) check_victim(*slot, expected);
    const bool intact = !dice_.one_in(10);
    pool_->end_write(*slot, intact);
    if (!intact) return;
    in_slot_[index(*slot)] = content;
    released_.push_back(content);
    model_->stored(content);
  }
  void check_victim(HostSlot slot, int expected) {
    const int evicted = in_slot_.at(index(slot));
    if (evicted != expected)
      throw std::logic_error("evicts " + std::to_string(evicted) + ", the model " +
                             std::to_string(expected));
    std::erase(released_, evicted);
    in_slot_.erase(index(slot));
    model_->evicted(evicted);
    ++evictions_;
  }

  Dice dice_;
  int slot_blocks_, slots_;
  std::unique_ptr<engine::QueueOrder> order_;
  bool oracle_;
  std::optional<policies::ToolCalls> calls_;
  std::unique_ptr<engine::HostEviction> rule_;
  engine::PrefixCache numbers_{2};
  std::optional<HostSlots> pool_;
  std::unique_ptr<naive::HostRule> model_;
  std::map<int, Job> jobs_;
  std::deque<Request> turns_;
  std::deque<Tokens> prompts_;
  std::vector<ContentId> ids_;            // by number of the content
  std::map<std::uint32_t, int> in_slot_;  // contents
  std::vector<int> released_;             // contents within reach, the one released first at front
  Nanos now_{0};
  int evictions_ = 0;
};

}  // namespace

TEST_CASE("every rule of the host evicts what a naive model of it does", "[fuzz]") {
  const std::string rule = GENERATE(from_range(policies::host_eviction_names()));
  CAPTURE(rule);
  int evictions = 0;
  for_each_seed(2000, [&](std::uint64_t seed) { evictions += HostFuzz(rule, seed).play(); });
  if (!few_seeds()) CHECK(evictions > 10'000);
}
