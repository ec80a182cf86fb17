#include "tests/cpu/served_jobs.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tests/cpu/content_ledger.hpp"
#include "tests/engine/support/engine_world.hpp"
#include "workers/backends/sim/sim_backend.hpp"

namespace cpu_test {
namespace {

using engine::Nanos;
using support::operator+;

/// Step times that depend on the plan alone, so that every run schedules the same.
class PlannedTime final : public backends::CostModel {
 public:
  Nanos step_time(const backends::StepShape& step) const override {
    return Nanos(3'000'000 + 200'000 * step.tokens + 1'000 * step.decode_context_tokens);
  }
  std::string label() const override { return "planned"; }
  bool estimated() const override { return true; }
  std::string digest_text() const override { return {}; }
};

/// Executes with another backend, in time that depends on the plan alone.
class Timed final : public engine::Backend {
 public:
  Timed(engine::Backend& backend, const backends::CostModel& time)
      : backend_(backend), time_(time) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    if (plan.scheduled.empty()) return {};
    return {backend_.execute(plan).sampled, time_.step_time(backends::shape_of(plan))};
  }
  void launch(const engine::StepPlan& plan) override {
    backend_.launch(plan);
    launched_.push_back(time_.step_time(backends::shape_of(plan)));
  }
  engine::StepResult wait() override {
    const Nanos duration = launched_.front();
    launched_.pop_front();
    return {backend_.wait().sampled, duration};
  }

 private:
  engine::Backend& backend_;
  const backends::CostModel& time_;
  std::deque<Nanos> launched_;  // durations of the steps in flight
};

std::uint64_t hash_of(std::span<const float> logits) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const float x : logits) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 0x100000001b3;
  return hash;
}

/// The model on the host, with a copier to host memory if there is a tier.
class Computer {
 public:
  Computer(const backends::CpuWeights& weights, const Serving& serving,
           std::function<void(const backends::LogitsRow&)> on_logits)
      : backend_(weights, {serving.engine.kv.num_blocks, serving.engine.kv.block_size},
                 {.kv_type = serving.kv_type,
                  .checks = serving.checks,
                  .logits_at = backends::LogitsAt::every_position,
                  .on_logits = std::move(on_logits)}) {
    if (serving.checks == backends::Checks::debug) checked_.emplace(backend_);
    const engine::TierConfig& tier = serving.engine.tier;
    if (tier.kind == engine::TierKind::none) return;
    backends::KvArena& device = backend_.arena();
    host_.emplace(device.layout(), device.type(), static_cast<int>(tier.host_blocks));
    copier_.emplace(device, *host_,
                    backends::CopierOptions{.checksums = serving.checks == backends::Checks::debug,
                                            .fault = serving.copy_fault});
  }
  engine::Backend& backend() {
    if (checked_) return *checked_;
    return backend_;
  }
  engine::BlockCopier* copier() { return copier_ ? &*copier_ : nullptr; }

 private:
  backends::CpuBackend backend_;
  std::optional<CheckedBackend> checked_;
  std::optional<backends::KvArena> host_;
  std::optional<backends::CpuCopier> copier_;
};

using Names = std::vector<std::pair<int, int>>;  // job and turn by request

/// All decisions of a step.
std::string decisions_of(const engine::StepTrace& trace, const Names& names) {
  std::ostringstream text;
  const auto add = [&](const engine::Request& request) {
    const auto [job, turn] = names[index(request.id)];
    text << ' ' << job << '.' << turn;
  };
  text << "at " << trace.start.count() << ':';
  for (const engine::ScheduledRequest& share : trace.plan->scheduled) {
    add(*share.request);
    text << '[' << share.computed_before << '+' << share.num_tokens << " kind "
         << static_cast<int>(share.kind) << " new " << share.num_new_blocks << " samples "
         << share.samples << ']';
  }
  text << " preempted";
  for (const engine::Request* request : trace.plan->preempted) add(*request);
  text << " finished";
  for (const engine::Request* request : trace.finished) add(*request);
  text << " stop " << static_cast<int>(trace.plan->stop) << " waiting " << trace.num_waiting
       << " pins " << trace.num_pins << " events";
  for (const engine::KvEvent& event : trace.kv_events)
    text << ' ' << static_cast<int>(event.kind) << '/' << static_cast<int>(event.reason) << " of "
         << index(event.job) << '.' << event.turn << 'x' << event.blocks;
  text << " evicted";
  for (const engine::Eviction& lost : trace.evictions) text << ' ' << index(lost.block);
  return text.str();
}

engine::EngineConfig with_forecasts(engine::EngineConfig config, engine::PrefetchPolicy* prefetch,
                                    engine::EvictionChoice eviction,
                                    engine::HostEviction* host_eviction) {
  config.tier.prefetch = prefetch;
  config.tier.eviction = host_eviction;
  config.eviction = std::move(eviction);
  return config;
}

/// A client for each job: submits its next turn some time after the previous answer.
class Service {
 public:
  Service(const std::vector<Job>& jobs, const Serving& serving, engine::Backend& backend,
          engine::BlockCopier* copier, const Served* replayed = nullptr)
      : jobs_(jobs),
        on_row_(serving.on_row),
        replayed_(replayed),
        clients_(jobs.size()),
        policy_(policies::with_plugin(serving.policy)),
        order_(policies::make_order(policy_)),
        retention_(policies::make_retention(policy_)),
        prefetch_(policies::make_prefetch(policy_)),
        host_eviction_(policies::make_host_eviction(policy_, *order_)),
        engine_(with_forecasts(serving.engine, prefetch_.get(), policies::make_eviction(policy_),
                               host_eviction_.get()),
                clock_, backend, *order_, *retention_, sink_, copier) {
    for (std::size_t j = 0; j < jobs.size(); ++j) clients_[j].arrival = jobs[j].arrival;
  }

  Served run() {
    while (submit_arrivals()) {
      const engine::StepTrace& trace = engine_.step();
      if (++served_.steps > 100'000) throw std::logic_error("the jobs do not end");
      note(trace);
      for (const engine::Request* request : trace.finished) finish(*request, trace.end);
    }
    return std::move(served_);
  }

  void take(const backends::LogitsRow& row) {
    const auto [job, turn] = names_[index(row.request)];
    if (on_row_) on_row_(job, turn, row.position, row.logits);
    const std::uint64_t hash = hash_of(row.logits);
    const auto [known, fresh] = served_.logits.emplace(std::tuple(job, turn, row.position), hash);
    if (!fresh && known->second != hash)
      throw std::logic_error("logits differ when position " + std::to_string(row.position) +
                             " is computed again");
  }

 private:
  struct Client {
    Nanos arrival{0};
    std::size_t turn = 0;
    bool busy = false;
    Tokens prompt;
  };

  bool submit_arrivals() {
    Nanos next = Nanos::max();
    for (std::size_t j = 0; j < clients_.size(); ++j)
      if (!clients_[j].busy && clients_[j].turn < jobs_[j].turns.size())
        next = std::min(next, clients_[j].arrival);
    if (engine_.idle() && next == Nanos::max()) return false;
    while (engine_.idle() && engine_.wakeup() < next) {
      clock_.wait_until(engine_.wakeup());
      note(engine_.wake());
    }
    if (engine_.idle()) clock_.wait_until(next);
    for (std::size_t j = 0; j < clients_.size(); ++j) {
      Client& client = clients_[j];
      if (!client.busy && client.turn < jobs_[j].turns.size() && client.arrival <= clock_.now())
        submit(static_cast<int>(j), client);
    }
    return true;
  }

  void submit(int job, Client& client) {
    const Job& script = jobs_[static_cast<std::size_t>(job)];
    const JobTurn& turn = script.turns[client.turn];
    client.prompt = client.prompt + turn.fresh;
    client.busy = true;
    engine::RequestSpec spec;
    spec.job = engine::JobId{static_cast<std::uint32_t>(job)};
    spec.turn = static_cast<int>(client.turn);
    spec.last_turn = client.turn + 1 == script.turns.size();
    spec.tool = engine::ToolId{turn.tool};
    spec.arrival = client.arrival;
    spec.job_arrival = script.arrival;
    spec.prompt = client.prompt;
    spec.max_tokens = turn.max_tokens;
    if (replayed_ != nullptr) spec.forced = replayed_->answers.at({job, spec.turn});
    engine_.submit(spec);
    names_.emplace_back(job, static_cast<int>(client.turn));
  }

  void finish(const engine::Request& request, Nanos end) {
    Client& client = clients_[index(request.spec.job)];
    served_.hit_tokens += request.prefix_hit_tokens;
    served_.answers[names_[index(request.id)]] = request.outputs;
    client.prompt = client.prompt + request.outputs;
    client.arrival = end + gap_of(request.spec.job);
    client.busy = false;
    ++client.turn;
  }

  void note(const engine::StepTrace& trace) {
    served_.decisions.push_back(decisions_of(trace, names_));
    served_.preemptions += static_cast<int>(trace.plan->preempted.size());
    served_.evictions += static_cast<int>(trace.evictions.size());
    for (const engine::KvEvent& event : trace.kv_events) {
      served_.pins += event.kind == engine::KvEventKind::pin;
      served_.copied[{event.kind, event.reason}] += event.blocks;
    }
  }

  const std::vector<Job>& jobs_;
  const std::function<void(int, int, int, std::span<const float>)>& on_row_;
  const Served* replayed_;
  std::vector<Client> clients_;
  Names names_;
  Served served_;
  engine::VirtualClock clock_;
  support::CountingSink sink_;
  policies::PolicyConfig policy_;  // with its plugin
  std::unique_ptr<engine::QueueOrder> order_;
  std::unique_ptr<engine::RetentionPolicy> retention_;
  std::unique_ptr<engine::PrefetchPolicy> prefetch_;
  std::unique_ptr<engine::HostEviction> host_eviction_;
  engine::Engine engine_;
};

Tokens random_tokens(support::Dice& dice, int vocab, int count) {
  Tokens all;
  for (int i = 0; i < count; ++i)
    all.push_back(static_cast<engine::TokenId>(dice.between(0, vocab - 1)));
  return all;
}

}  // namespace

model::ModelConfig small_model(model::Architecture architecture) {
  const bool llama = architecture == model::Architecture::llama;
  model::ModelConfig config;
  config.architecture = architecture;
  config.dtype = model::DType::f32;
  model::ModelShape& shape = config.shape;
  shape.name = llama ? "small-llama" : "small-opt";
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = 4;
  shape.kv_heads = llama ? 2 : 4;
  shape.head_dim = 8;
  shape.intermediate = 48;
  shape.vocab = 61;
  shape.max_context = 512;
  shape.dtype_bytes = 4;
  shape.gated_mlp = llama;
  shape.tied_embeddings = !llama;
  shape.biases = !llama;
  shape.learned_positions = llama ? 0 : shape.max_context + 2;
  return config;
}

backends::CpuWeights random_model(const model::ModelConfig& config, model::DType stored_as) {
  return {config, *model::random_weights(config, 1), stored_as, 1};
}

const backends::CpuWeights& small_llama() {
  static const backends::CpuWeights weights = random_model(small_model(model::Architecture::llama));
  return weights;
}

std::vector<Job> random_jobs(support::Dice& dice, int vocab, int max_model_len) {
  const Tokens shared = random_tokens(dice, vocab, dice.between(0, max_model_len / 3));
  std::vector<Job> jobs(static_cast<std::size_t>(dice.between(2, 6)));
  for (Job& job : jobs) {
    job.arrival = Nanos(dice.between(0, 20) * 10'000'000);
    int left = max_model_len - 1;
    Tokens first = dice.one_in(3) ? Tokens{} : shared;
    for (int turns = dice.between(1, 4); turns > 0 && left > 8; --turns) {
      JobTurn turn;
      turn.fresh = first + random_tokens(dice, vocab, dice.between(1, 20));
      turn.max_tokens = dice.between(1, 20);
      turn.tool = dice.between(-1, 2);
      left -= static_cast<int>(turn.fresh.size()) + turn.max_tokens;
      if (left < 0) break;
      job.turns.push_back(turn);
      first.clear();
    }
  }
  return jobs;
}

Serving plain_serving(int max_model_len, model::DType kv_type) {
  Serving plain;
  plain.engine.kv = {.num_blocks = 2 + max_model_len / 16, .prefix_caching = false};
  plain.engine.scheduler = {
      .max_num_batched_tokens = max_model_len, .max_num_seqs = 1, .max_model_len = max_model_len};
  plain.kv_type = kv_type;
  return plain;
}

Served serve(const backends::CpuWeights& weights, const std::vector<Job>& jobs,
             const Serving& serving) {
  const PlannedTime time;
  std::optional<Service> service;
  Computer computer(weights, serving, [&](const auto& row) { service->take(row); });
  Timed timed(computer.backend(), time);
  service.emplace(jobs, serving, timed, computer.copier());
  return service->run();
}

Served serve_on(engine::Backend& backend, const std::vector<Job>& jobs, const Serving& serving,
                const Served* answers, engine::BlockCopier* copier) {
  const PlannedTime time;
  Timed timed(backend, time);
  return Service(jobs, serving, timed, copier, answers).run();
}

Served simulate(const std::vector<Job>& jobs, const Serving& serving, const Served& answers) {
  const PlannedTime time;
  backends::SimBackend simulator(time);
  return Service(jobs, serving, simulator, nullptr, &answers).run();
}

std::string difference(const Served& served, const Served& plain) {
  for (const auto& [where, hash] : served.logits) {
    const auto& [job, turn, position] = where;
    const auto known = plain.logits.find(where);
    if (known == plain.logits.end() || known->second != hash)
      return "logits of job " + std::to_string(job) + ", turn " + std::to_string(turn) +
             ", position " + std::to_string(position);
  }
  for (const auto& [where, tokens] : plain.answers) {
    const auto answer = served.answers.find(where);
    if (answer == served.answers.end() || answer->second != tokens)
      return "answer of job " + std::to_string(where.first) + ", turn " +
             std::to_string(where.second);
  }
  return {};
}

std::string first_other_decision(const Served& a, const Served& b) {
  const std::size_t steps = std::max(a.decisions.size(), b.decisions.size());
  const auto at = [](const Served& served, std::size_t i) {
    return i < served.decisions.size() ? served.decisions[i] : "nothing";
  };
  for (std::size_t i = 0; i < steps; ++i)
    if (at(a, i) != at(b, i))
      return "step " + std::to_string(i + 1) + "\n" + at(a, i) + "\n" + at(b, i);
  return {};
}

}  // namespace cpu_test
