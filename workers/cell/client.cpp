#include "workers/cell/client.hpp"

#include <algorithm>
#include <cassert>

namespace worker {

using engine::Nanos;

Client::Client(const workload::Workload& workload, std::span<const Nanos> arrivals, int most_live,
               int block_size, TokenUse use, Submit submit)
    : workload_(workload),
      arrivals_(arrivals),
      submit_(std::move(submit)),
      prompts_(workload, block_size, use),
      started_(static_cast<std::size_t>(workload.programs())),
      latest_start_(workload.jobs.size()),
      ended_(workload.jobs.size()),
      most_live_(most_live),
      unfinished_jobs_(static_cast<int>(workload.jobs.size())) {
  assert(arrivals.size() == started_.size());
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    if (workload.root_of(job) == job) roots_.push_back(job);
    if (workload.agents.empty()) continue;
    for (const workload::TurnWait& wait : workload.agents[job].waits) {
      waiters_[{wait.job, wait.on}].push_back({job, wait.turn});
      ++waits_[{job, wait.turn}];
    }
  }
  start_programs(Nanos{0});
}

/// Starts programs in order of arrival, as many as may be live.
void Client::start_programs(Nanos now) {
  for (; next_program_ < roots_.size(); ++next_program_) {
    const int live = static_cast<int>(next_program_) - finished_programs_;
    if (most_live_ > 0 && live >= most_live_) return;
    start(roots_[next_program_], std::max(now, arrivals_[next_program_]));
  }
}

void Client::start(std::uint32_t root, Nanos at) {
  started_[workload_.program_of(root)] = at;
  due_.push({at, {root, 0}});
}

std::optional<Nanos> Client::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.top().at + latency_;
}

void Client::submit_due(Nanos now) {
  for (; !due_.empty() && due_.top().at + latency_ <= now; due_.pop()) {
    latest_start_[due_.top().turn.job] = due_.top().at;
    submit_(spec_of(due_.top()));
  }
}

engine::RequestSpec Client::spec_of(const Due& due) {
  const auto [job_index, number] = due.turn;
  const workload::Job& job = workload_.jobs[job_index];
  const auto at = static_cast<std::size_t>(number);
  engine::RequestSpec spec;
  spec.job = engine::JobId{job_index};
  if (workload_.root_of(job_index) != job_index)
    spec.subagent_of = engine::JobId{workload_.root_of(job_index)};
  spec.turn = number;
  spec.last_turn = at + 1 == job.turns.size();
  spec.tool = job.turns[at].tool;
  spec.arrival = due.at;
  spec.job_arrival = started_[workload_.program_of(job_index)];
  spec.max_tokens = job.turns[at].output_tokens;
  spec.computed_by_earlier_turns = workload::computed_before(job, at);
  prompts_.begin(job_index, number, spec);
  return spec;
}

void Client::on_finished(const engine::RequestSpec& turn, Nanos now) {
  const TurnAt ended{engine::index(turn.job), turn.turn};
  prompts_.end(ended.job, ended.turn);
  ++ended_[ended.job];
  if (turn.last_turn) {
    --unfinished_jobs_;
    if (workload_.root_of(ended.job) == ended.job) {
      ++finished_programs_;
      start_programs(now);
    }
  } else {
    end_wait({ended.job, ended.turn + 1}, now);
  }
  const auto waiters = waiters_.find(ended);
  if (waiters == waiters_.end()) return;
  for (const TurnAt& waiter : waiters->second) {
    --waits_[waiter];
    end_wait(waiter, now);
  }
}

/// One of the turns that `turn` waits for has ended. It is due once all of them have.
void Client::end_wait(const TurnAt& turn, Nanos now) {
  const auto waits = waits_.find(turn);
  if (waits != waits_.end() && waits->second > 0) return;
  const bool first = turn.turn == 0;
  const bool own_ended = first || ended_[turn.job] >= turn.turn;
  if (own_ended) due_.push({due_at(turn, now), turn});
}

/// When a turn is due whose last wait has just ended.
Nanos Client::due_at(const TurnAt& turn, Nanos now) const {
  const workload::Job& job = workload_.jobs[turn.job];
  const auto at = static_cast<std::size_t>(turn.turn);
  if (workload_.agents.empty()) return now + job.turns[at - 1].gap;
  const workload::AgentPlace& place = workload_.agents[turn.job];
  const std::optional<Nanos> since = place.since_start[at];
  if (!since) return now + (at == 0 ? place.lead : job.turns[at - 1].gap);
  const std::uint32_t before = at == 0 ? place.waits.front().job : turn.job;
  return std::max(now, latest_start_[before] + *since);
}

namespace {

// An idle engine wakes this often, to check for a stop and to report progress.
constexpr Nanos kLongestNap = std::chrono::seconds(5);

/// Waits, while the engine is idle, until the next turn is due or the engine must wake, at most
/// kLongestNap.
void wait_for_work(const Client& client, engine::Engine& engine, engine::Clock& clock) {
  const Nanos due = *client.next_due(), wake = engine.wakeup();
  const Nanos next = std::min(due, wake), nap_ends = clock.now() + kLongestNap;
  clock.wait_until(std::min(next, nap_ends));
  if (wake < due && wake <= nap_ends) engine.wake();
}

}  // namespace

void serve(Client& client, engine::Engine& engine, engine::Clock& clock, const RunHooks& hooks) {
  std::uint64_t steps = 0;
  const auto report = [&](bool serving) {
    if (!hooks.progress) return;
    hooks.progress({client.finished_programs(), client.programs(), steps,
                    engine::to_seconds(clock.now()), serving});
  };
  report(true);
  while (!client.done()) {
    if (hooks.stop.stop_requested()) throw CellAbandoned();
    client.submit_due(clock.now());
    if (engine.idle()) {
      wait_for_work(client, engine, clock);
    } else {
      const engine::StepTrace& trace = engine.step(client.next_due().value_or(Nanos::max()));
      for (const engine::Request* request : trace.finished)
        client.on_finished(request->spec, trace.end);
      steps = trace.plan->step;
    }
    report(true);
  }
  report(false);
}

Prompts::Prompts(const workload::Workload& workload, int block_size, TokenUse use)
    : workload_(workload),
      block_size_(static_cast<std::size_t>(block_size)),
      made_(workload.jobs.size()) {
  int longest = 0;
  for (std::size_t job = 0; job < made_.size(); ++job) {
    longest = std::max(longest, workload::longest_turn(workload.jobs[job]));
    if (!workload.prompts)
      made_[job].hashes = engine::hash_blocks(workload.jobs[job].tokens, block_size);
  }
  if (workload.prompts && use == TokenUse::counted)
    placeholders_.resize(static_cast<std::size_t>(longest));
}

void Prompts::begin(std::uint32_t job, int turn, engine::RequestSpec& spec) {
  const workload::Turn& of = workload_.jobs[job].turns[static_cast<std::size_t>(turn)];
  Made& made = made_[job];
  std::span<const engine::TokenId> tokens(workload_.jobs[job].tokens);
  if (workload_.prompts) {
    make(job, turn, made);
    hash(job, turn, made);
    if (!placeholders_.empty()) release(made.tokens);
    tokens = placeholders_.empty() ? std::span(made.tokens) : std::span(placeholders_);
  }
  const auto prompt = static_cast<std::size_t>(of.prompt_tokens);
  spec.prompt = tokens.first(prompt);
  spec.forced = tokens.subspan(prompt, static_cast<std::size_t>(of.output_tokens));
  spec.known_hashes = made.hashes;
}

void Prompts::make(std::uint32_t job, int turn, Made& made) {
  if (!unused_.empty()) {
    made.tokens = std::move(unused_.back());
    unused_.pop_back();
  }
  const workload::Turn& of = workload_.jobs[job].turns[static_cast<std::size_t>(turn)];
  const auto size = static_cast<std::size_t>(of.prompt_tokens + of.output_tokens);
  if (made.tokens.capacity() < size)
    made.tokens = std::vector<engine::TokenId>();  // frees it: make() allocates `size` and no more
  workload_.prompts->make(job, turn, made.tokens);
}

/// Hashes only what the previous turn's prompt does not have.
void Prompts::hash(std::uint32_t job, int turn, Made& made) const {
  const int same = computed_before(workload_.jobs[job], static_cast<std::size_t>(turn));
  made.hashes.resize(std::min(made.hashes.size(), static_cast<std::size_t>(same) / block_size_));
  made.hashes.reserve(made.tokens.size() / block_size_);
  engine::BlockHash parent = made.hashes.empty() ? engine::root_hash() : made.hashes.back();
  const std::span tokens(made.tokens);
  for (std::size_t at = made.hashes.size() * block_size_; at + block_size_ <= tokens.size();
       at += block_size_)
    made.hashes.push_back(parent = engine::chain_hash(parent, tokens.subspan(at, block_size_)));
}

void Prompts::release(std::vector<engine::TokenId>& tokens) {
  constexpr std::size_t kMostUnused = 16;
  if (unused_.size() < kMostUnused) unused_.push_back(std::move(tokens));
  tokens = std::vector<engine::TokenId>();  // `{}` would keep the memory
}

void Prompts::end(std::uint32_t job, int turn) {
  Made& made = made_[job];
  if (workload_.prompts && placeholders_.empty()) release(made.tokens);
  if (static_cast<std::size_t>(turn) + 1 == workload_.jobs[job].turns.size())
    made.hashes = std::vector<engine::BlockHash>();
}

}  // namespace worker
