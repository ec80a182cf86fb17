#include "tests/engine/support/fuzz_driver.hpp"

#include <algorithm>
#include <stdexcept>

namespace support {

using engine::Request;

FuzzDriver::FuzzDriver(const FuzzCase& fuzz, SchedulerWorld& world, Hooks hooks)
    : fuzz_(fuzz),
      world_(world),
      hooks_(std::move(hooks)),
      clients_(fuzz.jobs.size()),
      unfinished_(fuzz.jobs.size()) {
  for (std::size_t j = 0; j < clients_.size(); ++j) {
    clients_[j].job = &fuzz.jobs[j];
    clients_[j].next_arrival = fuzz.jobs[j].arrival_step;
  }
}

void FuzzDriver::run() {
  for (int step = 0; unfinished_ > 0; ++step) {
    if (step > 20'000) throw std::logic_error("the jobs never end");
    for (int j = 0; j < static_cast<int>(clients_.size()); ++j) submit(j, step);
    abort_impatient(step);
    world_.schedule();
    hooks_.scheduled();
    world_.apply();
    hooks_.applied();
    for (Request* request : world_.finished_requests) on_finished(*request, step);
  }
  check_end();
}

void FuzzDriver::submit(int job, int step) {
  Client& client = clients_[static_cast<std::size_t>(job)];
  const bool due = client.turn < client.job->turns.size() && client.request == nullptr &&
                   client.next_arrival <= step;
  if (!due) return;
  const FuzzTurn& turn = client.job->turns[client.turn];
  // In exact ties of priority and arrival the oldest is preempted; without reservation two such
  // requests can preempt each other's prefill forever.
  const int tie_breaker_ns = fuzz_.config.scheduler.reserve_full_sequence ? 0 : num_submitted_++;
  const double now_s = engine::to_seconds(world_.now()) + tie_breaker_ns * 1e-9;
  if (client.turn == 0) client.job_arrival_s = now_s;
  client.context = client.context + turn.fresh;
  client.arrived = step;
  client.request = &world_.add(std::to_string(job) + '.' + std::to_string(client.turn),
                               {.prompt = client.context,
                                .outputs = turn.outputs,
                                .priority = turn.priority,
                                .arrival_s = now_s,
                                .job = job,
                                .job_arrival_s = client.job_arrival_s,
                                .turn = static_cast<int>(client.turn),
                                .last_turn = turn.says_last,
                                .tool = turn.tool});
  hooks_.submitted(*client.request);
}

void FuzzDriver::abort_impatient(int step) {
  for (Client& client : clients_) {
    if (client.request == nullptr) continue;
    const auto patience = client.job->turns[client.turn].abort_after;
    if (!patience || step - client.arrived < *patience) continue;
    world_.abort(world_.name(*client.request));
    hooks_.aborted(*client.request);
    client.request = nullptr;
    client.turn = client.job->turns.size();
    --unfinished_;
  }
}

void FuzzDriver::on_finished(Request& request, int step) {
  Client& client = client_of(request);
  const FuzzTurn& turn = client.job->turns[client.turn];
  const int room = fuzz_.config.scheduler.max_model_len - request.num_prompt();
  const auto expected = std::min(turn.outputs.size(), static_cast<std::size_t>(room));
  const Tokens outputs(turn.outputs.begin(),
                       turn.outputs.begin() + static_cast<std::ptrdiff_t>(expected));
  if (request.outputs != outputs) throw std::logic_error("a request ended with other outputs");
  client.context = client.context + outputs;
  client.next_arrival = step + 1 + turn.gap_steps;
  client.request = nullptr;
  if (++client.turn == client.job->turns.size()) --unfinished_;
}

void FuzzDriver::check_end() {
  // Pins and held blocks of jobs without an announced last turn must expire, and must not be
  // restored forever.
  for (int rounds = 0; rounds < 5; ++rounds) {
    world_.pass(std::chrono::hours(1000));
    world_.schedule();
    world_.apply();
    for (int step = 0; world_.tier.busy() && step < 10'000; ++step) world_.step();
    if (world_.tier.busy()) throw std::logic_error("copies never end");
  }
  // A plugin may expect a turn in a hundred years.
  engine::Connector* ahead = world_.tier.connector();
  if (ahead != nullptr && ahead->wakeup() < engine::Nanos::max() &&
      ahead->wakeup() > world_.now() + std::chrono::hours(1000))
    while (ahead->release_prefetched(engine::KvReason::pressure_run, world_.now())) {
    }
  if (world_.pins.count() > 0) throw std::logic_error("pins outlive all jobs");
  if (world_.kv.num_free() != world_.kv.num_usable())
    throw std::logic_error("blocks are lost at the end");
}

}  // namespace support
