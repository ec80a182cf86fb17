#include "workers/engine/tiers/connector.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace engine {

ConnectorTier::ConnectorTier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                             BlockCopier& copier, std::vector<KvEvent>& events)
    : config_(config),
      scan_limit_(2 * kv.blocks_for(max_step_tokens)),
      kv_(kv),
      host_(static_cast<int>(config.host_blocks), config.arc, config.eviction, kv.prefix_cache(),
            config.store_threshold, config.as_v0_26 ? HostUses::by_touches : HostUses::by_requests),
      transfers_(config.transfers, copier),
      events_(events),
      allocated_(static_cast<std::size_t>(kv.num_usable()) + 1) {
  if (config.prefetch != nullptr)
    prefetcher_.emplace(*config.prefetch, kv_, host_, transfers_, events_);
  if (config.disk != nullptr) disk_.emplace(*config.disk, config.disk_blocks, host_, events_);
  if (config.eviction != nullptr) config.eviction->prepare(host_.num_slots(), 1, kv.block_size());
}

ConnectorTier::Client& ConnectorTier::new_client() {
  if (unused_.empty()) unused_.push_back(&clients_.emplace_back());
  Client& client = *unused_.back();
  unused_.pop_back();
  return client;
}

ConnectorTier::Client& ConnectorTier::client_of(Request& request) {
  if (request.tier.client != nullptr) return *static_cast<Client*>(request.tier.client);
  Client& client = new_client();
  client.id = request.id;
  client.turn = turn_of(request);
  client.num_prompt = request.num_prompt();
  request.tier.client = &client;
  return client;
}

ConnectorTier::Job& ConnectorTier::new_job(Client& client, CopyDirection direction, int first) {
  ++client.jobs;
  Job job{.number = num_jobs_++,
          .client = &client,
          .direction = direction,
          .step = step_,
          .first = first};
  return *jobs_.emplace_back(std::make_unique<Job>(std::move(job)));
}

void ConnectorTier::on_arrival(const Request& request, Nanos now) {
  if (prefetcher_) prefetcher_->on_arrival(request, now);
  if (config_.eviction != nullptr) config_.eviction->on_arrival(request);
}

HostHit ConnectorTier::find(Request& request, int gpu_tokens) {
  Client& client = client_of(request);
  client.table = 0;
  if (!config_.as_v0_26) client.cursor = 0;  // vLLM 0.26 offers nothing again
  if (client.jobs > 0) return {.ask_again = true};
  kv_.number_contents(request);
  if (!std::exchange(request.tier.looked_up, true)) {
    if (config_.eviction != nullptr) config_.eviction->on_lookup(request);
    const int blocks = request.num_prompt() / kv_.block_size();
    host_.look_up(std::span(request.contents).first(static_cast<std::size_t>(blocks)));
  }
  if (prefetcher_ && prefetcher_->waits_for_fetch(request, gpu_tokens, now_))
    return {.ask_again = true};
  const int first = gpu_tokens / kv_.block_size();
  const int end = request.num_tokens() / kv_.block_size();
  bool pending = false;
  int i = first;
  for (; i < end; ++i) {
    const HostEntry* const known = host_.find(request.contents[static_cast<std::size_t>(i)]);
    if (known == nullptr) break;
    pending |= known->readers != 0;
  }
  const auto sought = std::span<const ContentId>(request.contents)
                          .subspan(static_cast<std::size_t>(first),
                                   static_cast<std::size_t>(std::max(0, end - first)));
  if (disk_ && disk_->read_back(sought, first, client.turn, client.use, now_)) {
    record_evicted(client);
    pending = true;
  }
  host_.touch(std::span<const ContentId>(request.contents).first(static_cast<std::size_t>(end)));
  if (pending) return {.ask_again = true};
  const int tokens = (i - first) * kv_.block_size();
  int queued = 0;
  for (const auto& job : jobs_)
    if (job->direction == CopyDirection::load && job->id == TransferId::none)
      queued += static_cast<int>(job->copies.size());
  if (prefetcher_ && tokens > 0 && prefetcher_->better_recomputed(gpu_tokens, tokens, queued))
    return {};
  return {.tokens = tokens};
}

void ConnectorTier::load(Request& request, int gpu_blocks, int num_blocks) {
  Client& client = client_of(request);
  Job& job = new_job(client, CopyDirection::load, gpu_blocks);
  job.request = &request;
  int from_disk = 0;
  for (int i = gpu_blocks; i < gpu_blocks + num_blocks; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const HostSlot slot = host_.begin_read(request.contents[at]);
    host_.use(slot, i, client.use);
    from_disk += client.use.take_from_disk(i) ? 1 : 0;
    job.copies.push_back({request.blocks[at], slot});
  }
  client.cursor = gpu_blocks + num_blocks;
  request.record_disk_hit(from_disk * kv_.block_size());
  mark_allocated(request.blocks);
  events_.add(KvEventKind::load, KvReason::demand, client.turn, num_blocks);
  if (prefetcher_) prefetcher_->on_served(request, now_);
}

void ConnectorTier::mark_allocated(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) allocated_[index(block)] = step_;
}

void ConnectorTier::on_aborted(Request& request, Nanos now) {
  forget(request, now);
  for (const auto& job : jobs_)
    if (job->request == &request) {
      job->request = nullptr;
      job->held = kv_.take_blocks(request);
    }
  end(request, request.num_computed_tokens);
}

void ConnectorTier::on_turn_finish(Request& request, Nanos now) {
  end(request, std::max(request.num_prompt(), request.num_tokens() - 1));
  if (prefetcher_) {
    kv_.number_contents(request);
    prefetcher_->on_turn_finish(request, now);
  }
  if (config_.eviction != nullptr) config_.eviction->on_turn_finish(request, now);
}

/// The request's remaining blocks are offered in the next step, when they are free.
void ConnectorTier::end(Request& request, int tokens) {
  auto* client = static_cast<Client*>(std::exchange(request.tier.client, nullptr));
  if (client == nullptr) return;
  client->ended = true;
  client->tokens = config_.tail_store ? std::min(tokens, request.num_tokens()) : 0;
  kv_.number_contents(request);
  const int known = request.num_tokens() / kv_.block_size();
  client->contents.assign(request.contents.begin(), request.contents.begin() + known);
  const auto table =
      std::min<std::size_t>(static_cast<std::size_t>(client->table), request.blocks.size());
  client->blocks.assign(request.blocks.begin(),
                        request.blocks.begin() + static_cast<std::ptrdiff_t>(table));
  client->table = static_cast<int>(table);
  ended_.push_back(client);
}

void ConnectorTier::on_scheduled(const StepPlan& plan, Nanos now) {
  failed_stores_.clear();
  evicted_.clear();
  if (disk_) disk_->begin(now);
  for (const ScheduledRequest& share : plan.scheduled) {
    const std::span<const BlockId> blocks(share.request->blocks);
    mark_allocated(blocks.last(static_cast<std::size_t>(share.num_new_blocks)));
    client_of(*share.request).table = static_cast<int>(blocks.size());
  }
  const auto given_out = [&](const Job& job) {
    return job.direction == CopyDirection::store && job.client->ended &&
           std::ranges::any_of(job.copies, [&](const BlockCopy& copy) {
             return allocated_[index(copy.block)] == step_;
           });
  };
  for (Request* const request : plan.preempted)
    for (const auto& job : jobs_)
      job->flush |= job->client == request->tier.client && job->step < step_;
  if (config_.store_mode == StoreMode::lazy && !plan.scheduled.empty()) store_next_evicted();
  for (const ScheduledRequest& share : plan.scheduled) {
    Request& request = *share.request;
    const int tokens = std::min(share.computed_before + share.num_tokens, request.num_tokens());
    if (config_.eviction != nullptr)
      config_.eviction->on_computed(request, tokens / kv_.block_size());
    kv_.number_contents(request);
    store(client_of(request), request.contents, request.blocks, tokens, now);
  }
  for (Client* const client : ended_)
    store(*client, client->contents, client->blocks, client->tokens, now);
  for (const auto& job : jobs_) job->flush |= given_out(*job);
  for (Client* const client : std::exchange(ended_, {})) {
    host_.finish(client->contents, client->use);
    client->announced = true;
    if (client->jobs == 0) release(*client);
  }
  ++step_;
}

/// Offers content that is next to be evicted from the GPU, as that of requests that have ended.
void ConnectorTier::store_next_evicted() {
  Client* client = nullptr;
  int left = std::min(scan_limit_, host_.num_slots());
  const BlockPool& pool = kv_.pool();
  for (BlockId block = pool.free_head(); --left >= 0 && block != BlockId{0};
       block = pool.next_free(block)) {
    const ContentId content = kv_.prefix_cache().content_of(block);
    const bool found = content != ContentId::none && kv_.prefix_cache().find(content) == block;
    if (!found || host_.find(content) != nullptr) continue;
    if (client == nullptr || client->turn != kv_.owner(block)) {
      client = ended_.emplace_back(&new_client());
      client->turn = kv_.owner(block);
      client->ended = true;
      client->reason = KvReason::before_eviction;
    }
    client->blocks.push_back(block);
    client->contents.push_back(content);
    client->table = static_cast<int>(client->blocks.size());
    client->tokens = client->table * kv_.block_size();
  }
}

/// Leading blocks of these that the host tier has room for, by what prefetch says.
int ConnectorTier::storable(const Client& client, std::span<const ContentId> offered, Nanos now) {
  const auto absent = [&](ContentId content) { return host_.find(content) == nullptr; };
  const auto wanted = static_cast<int>(std::ranges::count_if(offered, absent));
  int room = prefetcher_->make_host_room(client.turn, wanted, now);
  int blocks = 0;
  for (const ContentId content : offered) {
    if (absent(content) && --room < 0) break;
    ++blocks;
  }
  return blocks;
}

/// The end of the blocks that the client, with that many tokens, may store.
int ConnectorTier::end_of_stored(const Client& client, std::span<const BlockId> blocks,
                                 int tokens) const {
  const bool before_eviction = client.reason == KvReason::before_eviction;
  if ((config_.store_mode == StoreMode::lazy) != before_eviction) return 0;
  if (config_.store_mode == StoreMode::prompt) tokens = std::min(tokens, client.num_prompt);
  const int end = std::min(tokens / kv_.block_size(), client.table);
  if (config_.store_mode != StoreMode::second_turn) return end;
  for (int i = client.cursor; i < end; ++i) {
    const BlockId block = blocks[static_cast<std::size_t>(i)];
    if (!kv_.prefix_cache().contains(block) || kv_.owner(block) == client.turn) return i;
  }
  return end;
}

/// Records the victims of the last offer, for the client.
void ConnectorTier::record_evicted(const Client& client) {
  for (const HostStore::Evicted& lost : host_.evicted()) {
    evicted_.push_back(lost.slot);
    events_.add(KvEventKind::evict_host, lost.unread ? KvReason::unread : KvReason::read,
                lost.owner, client.turn, 1);
  }
}

/// Offers the request's full blocks with KV that it has not offered yet.
void ConnectorTier::store(Client& client, std::span<const ContentId> contents,
                          std::span<const BlockId> blocks, int tokens, Nanos now) {
  const int first = client.cursor;
  int end = end_of_stored(client, blocks, tokens);
  const auto between = [&] {
    return contents.subspan(static_cast<std::size_t>(first),
                            static_cast<std::size_t>(std::max(0, end - first)));
  };
  if (prefetcher_) end = first + storable(client, between(), now);
  const auto offered = between();
  if (offered.empty()) return;
  const auto stored = host_.offer(offered, first, client.turn, client.use, now);
  record_evicted(client);
  if (!stored) return failed_stores_.push_back(client.id);
  client.cursor = end;
  if (stored->empty()) return;
  host_.touch(contents);
  Job& job = new_job(client, CopyDirection::store, first);
  if (disk_) job.ready = disk_->write_evicted(client.turn, now);
  for (const auto& [position, slot] : *stored) {
    const auto i = static_cast<std::size_t>(position);
    job.copies.push_back({blocks[i], slot});
    if (prefetcher_) kv_.begin_copy(blocks[i]);
  }
  events_.add(KvEventKind::store, client.ended ? client.reason : KvReason::write_through,
              client.turn, static_cast<int>(stored->size()));
}

std::span<const LoadedKv> ConnectorTier::before_execution(const StepPlan& plan, Clock& clock) {
  for (const auto& job : jobs_) {
    if (job->direction != CopyDirection::store || job->id != TransferId::none) continue;
    if (job->flush) clock.wait_until(job->ready);
    if (job->flush || (job->step + 1 < step_ && job->ready <= clock.now()))
      job->id = transfers_.submit({CopyDirection::store, Urgency::background}, job->copies);
  }
  if (prefetcher_) prefetcher_->plan(plan, clock.now());
  transfers_.submit_next(clock.now());
  for (const auto& job : jobs_)
    if (std::exchange(job->flush, false)) transfers_.finish(job->id, clock);
  if (!plan.scheduled.empty()) clock.advance(config_.schedule_overhead);
  return {};
}

void ConnectorTier::after_execution(const StepPlan&, Clock& clock) {
  for (const auto& job : jobs_)
    if (job->direction == CopyDirection::load && job->id == TransferId::none)
      job->id = transfers_.submit({CopyDirection::load, Urgency::demand}, job->copies);
  transfers_.submit_next(clock.now());
}

void ConnectorTier::wait(Clock& clock, Nanos until) {
  until = std::min(until, wakeup());
  if (!disk_) return transfers_.busy() ? transfers_.wait(clock, until) : void();
  until = std::min(until, disk_->next());
  bool submits = !ended_.empty();  // in the next step
  for (const auto& job : jobs_) {
    if (job->id != TransferId::none) continue;
    submits |= job->ready <= clock.now();
    until = std::min(until, std::max(job->ready, clock.now()));
  }
  if (transfers_.busy()) return transfers_.wait(clock, until);
  if (!submits && until < Nanos::max()) clock.wait_until(until);
}

/// Observed loads ahead of their turns are under way until they are told.
bool ConnectorTier::busy() const {
  const auto told = [](const auto& done) { return !done.empty(); };
  return !jobs_.empty() || !ended_.empty() || !transfers_.idle() || (disk_ && disk_->busy()) ||
         std::ranges::any_of(observed_, told);
}

void ConnectorTier::observe(Nanos now) {
  now_ = now;
  const auto done = transfers_.poll(now);
  observed_.emplace_back(done.begin(), done.end());
}

std::span<const LoadedKv> ConnectorTier::poll(Nanos now) {
  observe(now);
  return make_known();
}

std::span<const LoadedKv> ConnectorTier::make_known() {
  loaded_.clear();
  const std::vector<TransferDone> all = std::move(observed_.front());
  observed_.pop_front();
  for (const TransferDone& done : all) {
    if (prefetcher_ && prefetcher_->on_transfer_done(done, now_)) continue;
    const auto job = std::ranges::find_if(jobs_, [&](const auto& j) { return j->id == done.id; });
    end_job(**job, done);
    jobs_.erase(job);
  }
  if (prefetcher_) prefetcher_->expire(now_);
  if (disk_) disk_->finish(now_);
  return loaded_;
}

void ConnectorTier::end_job(Job& job, const TransferDone& done) {
  const auto count = static_cast<int>(job.copies.size());
  const bool store = job.direction == CopyDirection::store;
  for (int i = 0; i < count; ++i) {
    const HostSlot slot = job.copies[static_cast<std::size_t>(i)].slot;
    const bool intact = i < done.landed;
    store ? host_.end_write(slot, intact) : host_.end_read(slot, intact);
  }
  // The end of the context first, as requests free their blocks.
  if (prefetcher_ && store)
    for (const BlockCopy& copy : std::views::reverse(job.copies)) kv_.end_copy(copy.block);
  Client& client = *job.client;
  --client.jobs;
  if (job.request != nullptr) {
    if (done.failed)
      events_.add(KvEventKind::load_failed, KvReason::load_failed, client.turn,
                  count - done.landed);
    loaded_.push_back({job.request, (job.first + done.landed) * kv_.block_size(), done.failed});
  }
  kv_.release(job.held);
  if (client.jobs > 0) return;
  if (client.announced) return release(client);
  // vLLM 0.26 offers nothing of a request whose last copy is over before its end is announced.
  if (client.ended && config_.as_v0_26) client.tokens = 0;
}

void ConnectorTier::release(Client& client) {
  client = {};
  unused_.push_back(&client);
}

}  // namespace engine
