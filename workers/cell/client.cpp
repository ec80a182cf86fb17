#include "workers/cell/client.hpp"

#include <algorithm>
#include <cassert>

namespace worker {

using engine::Nanos;

Client::Client(const workload::Workload& workload, std::span<const Nanos> arrivals, int block_size,
               engine::Engine& engine)
    : workload_(workload),
      arrivals_(arrivals),
      engine_(engine),
      unfinished_jobs_(static_cast<int>(workload.jobs.size())) {
  assert(arrivals.size() == workload.jobs.size());
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    hashes_.push_back(engine::hash_blocks(workload.jobs[job].tokens, block_size));
    due_.push({arrivals[job], job, 0});
  }
}

std::optional<Nanos> Client::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.top().at;
}

void Client::submit_due(Nanos now) {
  for (; !due_.empty() && due_.top().at <= now; due_.pop()) engine_.submit(spec_of(due_.top()));
}

engine::RequestSpec Client::spec_of(const Due& due) const {
  const workload::Job& job = workload_.jobs[due.job];
  const auto at = static_cast<std::size_t>(due.turn);
  const workload::Turn& turn = job.turns[at];
  const std::span tokens(job.tokens);
  const auto prompt = static_cast<std::size_t>(turn.prompt_tokens);
  const auto output = static_cast<std::size_t>(turn.output_tokens);
  engine::RequestSpec spec;
  spec.job = engine::JobId{due.job};
  spec.turn = due.turn;
  spec.last_turn = at + 1 == job.turns.size();
  spec.tool = turn.tool;
  spec.arrival = due.at;
  spec.job_arrival = arrivals_[due.job];
  spec.max_tokens = turn.output_tokens;
  spec.prompt = tokens.first(prompt);
  spec.forced = tokens.subspan(prompt, output);
  spec.known_hashes = hashes_[due.job];
  if (at > 0) {
    // The last token of an answer is sampled, never fed back.
    spec.computed_by_earlier_turns =
        job.turns[at - 1].prompt_tokens + job.turns[at - 1].output_tokens - 1;
  }
  return spec;
}

void Client::on_finished(const engine::Request& request, Nanos now) {
  if (request.spec.last_turn) {
    --unfinished_jobs_;
    return;
  }
  const auto job = engine::index(request.spec.job);
  const auto turn = static_cast<std::size_t>(request.spec.turn);
  due_.push({now + workload_.jobs[job].turns[turn].gap, job, request.spec.turn + 1});
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
    hooks.progress(
        {client.finished_jobs(), client.jobs(), steps, engine::to_seconds(clock.now()), serving});
  };
  report(true);
  while (!client.done()) {
    if (hooks.stop.stop_requested()) throw CellAbandoned();
    client.submit_due(clock.now());
    if (engine.idle()) {
      wait_for_work(client, engine, clock);
    } else {
      const engine::StepTrace& trace = engine.step(client.next_due().value_or(Nanos::max()));
      for (const engine::Request* request : trace.finished) client.on_finished(*request, trace.end);
      steps = trace.plan->step;
    }
    report(true);
  }
  report(false);
}

}  // namespace worker
