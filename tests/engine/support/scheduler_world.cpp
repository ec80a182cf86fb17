#include "tests/engine/support/scheduler_world.hpp"

#include <algorithm>
#include <stdexcept>

#include "workers/policies/admission/config.hpp"

namespace support {

using engine::Request;

std::string to_string(engine::KvReason reason) {
  return std::string(enum_names(reason)[static_cast<std::size_t>(reason)]);
}

namespace {

engine::TierConfig with_policies(engine::TierConfig tier, engine::PrefetchPolicy* prefetch,
                                 engine::HostEviction* eviction, engine::BlockDisk& disk) {
  tier.prefetch = prefetch;
  tier.eviction = eviction;
  if (tier.disk_blocks > 0) tier.disk = &disk;
  return tier;
}

}  // namespace

SchedulerWorld::SchedulerWorld(const WorldConfig& config, engine::HostTier* given)
    : kv(config.kv),
      config_(config),
      policy_(policies::with_plugin(config.policy)),
      order_(policies::make_order(policy_)),
      retention_(policies::make_retention(policy_)),
      pins(kv, *order_, *retention_),
      content(config.kv),
      shadow(copier, content),
      prefetch_(policies::make_prefetch(policy_)),
      host_eviction_(policies::make_host_eviction(policy_, *order_)),
      own_tier_(engine::make_host_tier(
          with_policies(config.tier, prefetch_.get(), host_eviction_.get(), shadow.disk),
          config.scheduler.max_num_batched_tokens, kv, &shadow, pins.events())),
      tier(given != nullptr ? *given : *own_tier_),
      eviction_order_(engine::make_eviction_order(policies::make_eviction(policy_), kv, *order_)),
      scheduler_(config.scheduler, kv, *order_, pins, tier, eviction_order_.get()),
      invariants_(config.kv, config.scheduler, kv, scheduler_, *order_, pins, tier,
                  config.policy.order == "fcfs" && !config.policy.admission.limits() &&
                      given == nullptr && config.tier.kind == engine::TierKind::none) {}

Request& SchedulerWorld::add(const std::string& name, const Ask& ask) {
  const auto number = static_cast<int>(clients_.size());
  Client& client = clients_.emplace_back(Client{name, ask, {}});
  Request& request = client.request;
  request.id = engine::RequestId{static_cast<std::uint32_t>(number)};
  engine::RequestSpec& spec = request.spec;
  spec.job = engine::JobId{static_cast<std::uint32_t>(ask.job.value_or(number))};
  spec.turn = ask.turn;
  spec.last_turn = ask.last_turn;
  spec.tool = engine::ToolId{ask.tool};
  spec.priority = ask.priority;
  spec.arrival = engine::from_seconds(ask.arrival_s.value_or(number));
  spec.job_arrival = ask.job_arrival_s ? engine::from_seconds(*ask.job_arrival_s) : spec.arrival;
  spec.prompt = client.ask.prompt;
  spec.forced = client.ask.outputs;
  spec.max_tokens = static_cast<int>(client.ask.outputs.size());
  engine::hash_full_blocks(request, kv.block_size());
  scheduler_.submit(request);
  tier.on_arrival(request, now());
  return request;
}

Request& SchedulerWorld::add(const std::string& name, int prompt_tokens, int output_tokens,
                             int priority) {
  const int stream = 1 + 2 * static_cast<int>(clients_.size());
  return add(name, {.prompt = tokens(prompt_tokens, stream),
                    .outputs = tokens(output_tokens, stream + 1),
                    .priority = priority});
}

void SchedulerWorld::abort(const std::string& name) {
  scheduler_.abort((*this)[name]);
  take_events();
  invariants_.check_blocks();
}

std::string SchedulerWorld::schedule() {
  kv.clear_evictions();
  finished_requests.clear();
  invariants_.before_schedule();
  if (!delayed()) scheduler_.on_loaded(tier.poll(now()), now());
  pins.expire(now());
  scheduler_.schedule(plan_, now());
  take_events();
  invariants_.after_schedule(plan_);
  // Where copies run between steps, the step in flight is over before this one starts.
  const bool between = config_.async && tier.blocking();
  if (between && !in_flight_.empty()) tier.after_execution(in_flight_.front(), clock);
  const auto failed = tier.before_execution(plan_, clock);
  if (!failed.empty()) scheduler_.on_load_failed(failed, plan_);
  take_events();
  invariants_.before_execution(plan_);
  content.execute(plan_);
  if (!between) tier.after_execution(plan_, clock);
  if (delayed()) tier.connector()->observe(now());
  preempted_ = names(plan_.preempted);
  std::string text;
  for (const auto& share : plan_.scheduled) {
    text +=
        (text.empty() ? "" : " ") + name(*share.request) + ':' + std::to_string(share.num_tokens);
  }
  return text;
}

void SchedulerWorld::apply() {
  if (!config_.async) return apply(plan_);
  in_flight_.push_back(plan_);
  const bool waits = delayed() && (!scheduler_.idle() || tier.busy());
  if (in_flight_.size() == 1 && (waits || !plan_.scheduled.empty())) return;
  const engine::StepPlan oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  apply(oldest);
}

void SchedulerWorld::apply(const engine::StepPlan& plan) {
  take_events();
  invariants_.before_apply();
  scheduler_.apply(plan, {}, now(), now() + step_duration, finished_requests);
  if (delayed()) scheduler_.on_loaded(tier.connector()->make_known(), now());
  clock.advance(step_duration);
  take_events();
  invariants_.after_apply();
  finished_ = names(finished_requests);
}

std::string SchedulerWorld::step() {
  std::string text = schedule();
  apply();
  return text;
}

int SchedulerWorld::run_until_idle() {
  int steps = 0;
  for (; !scheduler_.idle(); ++steps) {
    if (steps == 100'000) throw std::logic_error("the world never comes to rest");
    step();
  }
  return steps;
}

void SchedulerWorld::take_events() {
  invariants_.on_events(pins.events());
  events_.insert(events_.end(), pins.events().begin(), pins.events().end());
  for (const engine::KvEvent& event : pins.events()) {
    static constexpr const char* kKinds[] = {"pin ", "unpin ", "keep_declined "};
    if (event.kind > engine::KvEventKind::keep_declined) continue;
    pin_events_.push_back(kKinds[static_cast<int>(event.kind)] +
                          std::to_string(engine::index(event.job)) + '.' +
                          std::to_string(event.turn) + ' ' + to_string(event.reason));
  }
  pins.events().clear();
}

std::string SchedulerWorld::name(const Request& request) const {
  return clients_[engine::index(request.id)].name;
}

std::string SchedulerWorld::names(const auto& requests) const {
  std::string text;
  for (const Request* r : requests) text += (text.empty() ? "" : " ") + name(*r);
  return text;
}

std::string SchedulerWorld::running() const {
  std::vector<const Request*> all;
  const auto& list = scheduler_.running();
  for (const Request* r = list.front(); r != nullptr; r = list.next(*r)) all.push_back(r);
  return names(all);
}

std::string SchedulerWorld::loading() const {
  std::vector<const Request*> all;
  for (const Request* r = scheduler_.loading().front(); r != nullptr;
       r = engine::LoadingList::next(*r))
    all.push_back(r);
  return names(all);
}

int SchedulerWorld::blocks_of(engine::KvEventKind kind, engine::KvReason reason) const {
  int blocks = 0;
  for (const engine::KvEvent& event : events_)
    if (event.kind == kind && event.reason == reason) blocks += event.blocks;
  return blocks;
}

std::string SchedulerWorld::waiting() const { return names(order_->in_service_order()); }

Request& SchedulerWorld::operator[](const std::string& name) {
  return std::ranges::find(clients_, name, &Client::name)->request;
}

Ids SchedulerWorld::free_list() const {
  Ids ids;
  for (auto b = kv.pool().free_head(); b != engine::BlockId{0}; b = kv.pool().next_free(b))
    ids.push_back(static_cast<int>(engine::index(b)));
  return ids;
}

}  // namespace support
