#include "tests/engine/support/invariants.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "workers/engine/tiers/connector.hpp"

namespace support {
namespace {

using engine::BlockId;
using engine::Request;

void require(bool holds, const std::string& rule) {
  if (!holds) throw std::logic_error("invariant broken: " + rule);
}

template <class List>
std::vector<const Request*> all_of(const List& list) {
  std::vector<const Request*> all;
  for (const Request* r = list.front(); r != nullptr; r = List::next(*r)) all.push_back(r);
  return all;
}

}  // namespace

Invariants::Invariants(const engine::KvConfig& kv_config, const engine::SchedulerConfig& config,
                       const engine::KvCache& kv, const engine::Scheduler& scheduler,
                       const engine::QueueOrder& order, const engine::Pins& pins,
                       engine::HostTier& tier, bool fcfs)
    : kv_config_(kv_config),
      config_(config),
      kv_(kv),
      scheduler_(scheduler),
      order_(order),
      pins_(pins),
      tier_(tier),
      fcfs_(fcfs) {}

void Invariants::before_schedule() {
  must_progress_ = scheduler_.running().empty() && order_.size() > 0;
  std::erase_if(tables_, [](const auto& entry) {
    return entry.first->status != engine::RequestStatus::running;
  });
  for (const Request* r : all_of(scheduler_.running()))
    require(r->num_computed_tokens < r->expected_tokens(),
            "a running request has a token left to compute");
}

void Invariants::after_schedule(const engine::StepPlan& plan) {
  require(!must_progress_ || !plan.scheduled.empty() || tier_.busy() || !scheduler_.late().empty(),
          "with nothing running and no copy under way, something that waits is scheduled");
}

void Invariants::before_execution(const engine::StepPlan& plan) {
  check_step(plan);
  check_running(plan.step);
  check_tables_only_grow();
  check_blocks();
  if (fcfs_) check_fcfs();
}

void Invariants::check_step(const engine::StepPlan& plan) const {
  int total = 0, admissions = 0;
  for (const auto& share : plan.scheduled) {
    total += share.num_tokens;
    admissions += share.kind == engine::SchedKind::running ? 0 : 1;
    require(share.num_tokens > 0, "every share computes something");
    require(share.request->num_computed_tokens == share.computed_before + share.num_tokens,
            "scheduled tokens count as computed");
    const int last = share.request->num_tokens() + share.in_flight;
    require(share.samples == (share.request->num_computed_tokens == last),
            "a request samples when all its tokens are computed");
  }
  const auto num_running = static_cast<int>(scheduler_.running().size());
  require(total == plan.total_tokens, "the step's tokens add up");
  require(total <= plan.token_budget && plan.token_budget <= config_.max_num_batched_tokens,
          "the token budget is kept");
  require(num_running <= config_.max_num_seqs, "no more than max_num_seqs run");
  require(plan.preempted.empty() || admissions == 0, "a step that preempts admits nothing");
}

void Invariants::check_running(std::uint64_t step) const {
  for (const Request* r : all_of(scheduler_.running())) {
    require(r->status == engine::RequestStatus::running, "what runs has the status of it");
    require(r->num_computed_tokens <= config_.max_model_len - 1,
            "the KV of the last possible token is never computed");
    const int needed = kv_.blocks_for(r->num_computed_tokens);
    const auto held = static_cast<int>(r->blocks.size());
    require(held == needed || (config_.batching != engine::Batching::v1 && held > needed),
            "a table covers exactly the computed tokens, or more where blocks are taken ahead");
    // Blocks with tokens in flight when they were scheduled follow with those tokens.
    const int known = std::min(r->num_computed_tokens, r->num_tokens());
    const int applied = r->num_computed_tokens - r->tokens_in_flight;
    const int most = known / kv_config_.block_size;
    const int least = r->scheduled_in_step == step ? most : applied / kv_config_.block_size;
    const int full = r->num_hashed_blocks;
    require(kv_config_.prefix_caching ? least <= full && full <= most : full == 0,
            "all full blocks are registered");
    for (std::size_t i = 0; i < r->blocks.size(); ++i) {
      const bool is_full = static_cast<int>(i) < full;
      require(kv_.prefix_cache().contains(r->blocks[i]) == (is_full && kv_config_.prefix_caching),
              "a block has a hash exactly when it is full");
    }
  }
  check_waiting();
}

void Invariants::check_waiting() const {
  for (const Request* r : all_of(scheduler_.loading())) {
    if (r->waits()) {
      require(config_.version == engine::Version::v0_26 && r->blocks.empty(),
              "what is passed over waits with what loads in vLLM 0.26 alone, and holds nothing");
      continue;
    }
    require((r->status == engine::RequestStatus::loading ||
             (tier_.connector() != nullptr && r->status == engine::RequestStatus::loaded)) &&
                !r->blocks.empty(),
            "what loads has blocks to load into");
  }
  for (const Request* r : order_.in_service_order()) {
    if (r->status == engine::RequestStatus::loaded) {
      require(!r->blocks.empty() && r->num_computed_tokens > 0, "what has been loaded is kept");
      continue;
    }
    if (r->swapped_out && !r->blocks.empty()) {
      require(config_.preempt_by_block && r->num_computed_tokens > 0 &&
                  kv_.blocks_for(r->num_computed_tokens) == static_cast<int>(r->blocks.size()),
              "a request preempted by blocks keeps computed ones");
    } else {
      require(r->blocks.empty() && r->num_computed_tokens == 0, "a waiting request holds nothing");
    }
    require(r->status == engine::RequestStatus::waiting ||
                r->status == engine::RequestStatus::preempted,
            "what waits has the status of it");
  }
}

void Invariants::check_tables_only_grow() {
  for (const Request* r : all_of(scheduler_.running())) {
    auto& seen = tables_[r];
    require(
        seen.size() <= r->blocks.size() && std::equal(seen.begin(), seen.end(), r->blocks.begin()),
        "a running request's table only grows");
    seen = r->blocks;
  }
}

void Invariants::check_blocks() const {
  kv_.verify();
  std::vector<int> holders(static_cast<std::size_t>(kv_config_.num_blocks));
  for (const Request* r : this->holders())
    for (const BlockId b : r->blocks) ++holders[engine::index(b)];
  engine::Connector* const connected = tier_.connector();
  for (std::uint32_t b = 1; b < holders.size(); ++b)
    holders[b] += kv_.copies(BlockId{b}) + (connected ? connected->kept(BlockId{b}) : 0);
  for (const auto& [job, blocks] : pinned_)
    for (const BlockId b : blocks) ++holders[engine::index(b)];
  for (const BlockId b : scheduler_.ended_in_batch()) ++holders[engine::index(b)];
  for (const auto& late : scheduler_.late())
    for (const BlockId b : late.blocks) ++holders[engine::index(b)];
  if (const auto* connector = dynamic_cast<const engine::ConnectorTier*>(&tier_))
    for (const auto& job : connector->jobs())
      for (const BlockId b : job->held) ++holders[engine::index(b)];
  int free = 0, held = 0;
  for (std::uint32_t b = 1; b < holders.size(); ++b) {
    require(kv_.pool().refs(BlockId{b}) == holders[b],
            "a block has one reference a table, a pin, a copy and a prefetch that hold it");
    ++(holders[b] == 0 ? free : held);
  }
  require(free == kv_.num_free(), "free blocks are exactly those without references");
  require(free + held + 1 == kv_config_.num_blocks, "free, held and the null block are all");
  require(static_cast<int>(pinned_.size()) == pins_.count(), "pins are counted");
  require(pins_.num_blocks() <= pins_.most_blocks(), "pins keep to their share of the pool");
}

std::vector<const Request*> Invariants::holders() const {
  auto all = all_of(scheduler_.running());
  for (const Request* r : all_of(scheduler_.loading())) all.push_back(r);
  for (const Request* r : all_of(scheduler_.suspended())) all.push_back(r);
  return all;
}

/// The queue is served strictly from its head and the youngest request is preempted, so running
/// requests, followed by waiting ones, are always in the order of their arrival.
void Invariants::check_fcfs() const {
  std::vector<const Request*> service = all_of(scheduler_.running());
  for (const Request* r : order_.in_service_order()) service.push_back(r);
  require(std::ranges::is_sorted(service, {}, &Request::id), "first come is first served");
  const auto waiting = order_.in_service_order();
  const auto fresh = std::ranges::find(waiting, engine::RequestStatus::waiting, &Request::status);
  require(std::find_if(fresh, waiting.end(),
                       [](const Request* r) {
                         return r->status == engine::RequestStatus::preempted;
                       }) == waiting.end(),
          "preempted requests wait before arrivals");
}

void Invariants::before_apply() {
  tables_.clear();
  for (const Request* r : all_of(scheduler_.running())) tables_[r] = r->blocks;
  for (const Request* r : all_of(scheduler_.suspended())) tables_[r] = r->blocks;
}

void Invariants::after_apply() { check_blocks(); }

void Invariants::on_events(const std::vector<engine::KvEvent>& events) {
  for (const engine::KvEvent& event : events) {
    if (event.kind == engine::KvEventKind::unpin) {
      require(pinned_.erase(event.job) == 1, "only what is pinned is unpinned");
    } else if (event.kind == engine::KvEventKind::pin) {
      const auto turn = std::ranges::find_if(tables_, [&](const auto& entry) {
        return entry.first->spec.job == event.job && entry.first->spec.turn == event.turn;
      });
      require(turn != tables_.end(), "only a turn that holds blocks is pinned");
      const auto [pin, fresh] = pinned_.emplace(event.job, turn->second);
      require(fresh, "a job holds one pin at most");
      const int blocks = static_cast<int>(pin->second.size());
      const bool capped = pins_.most_blocks() < kv_config_.num_blocks;
      require(event.blocks == blocks || (capped && event.blocks > 0 && event.blocks < blocks),
              "a pin keeps the whole turn, as far as it may");
      pin->second.resize(static_cast<std::size_t>(event.blocks));
    }
  }
}

}  // namespace support
