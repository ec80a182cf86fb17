#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/support/fuzz_case.hpp"
#include "workers/backends/cpu/cpu_backend.hpp"
#include "workers/backends/cpu/cpu_copier.hpp"
#include "workers/engine/engine.hpp"
#include "workers/policies/factory.hpp"

namespace cpu_test {

using support::Tokens;

/// A transformer small enough to serve thousands of tokens per second, of either architecture.
model::ModelConfig small_model(model::Architecture architecture);
backends::CpuWeights random_model(const model::ModelConfig& config,
                                  model::DType stored_as = model::DType::f32);
/// The small Llama with random weights; created once.
const backends::CpuWeights& small_llama();

struct JobTurn {
  Tokens fresh;  // new tokens of the prompt behind the previous turns and answers
  int max_tokens = 1;
  int tool = -1;
};
struct Job {
  engine::Nanos arrival{0};
  std::vector<JobTurn> turns;
};
/// Jobs of several turns, some of which begin with the same tokens.
std::vector<Job> random_jobs(support::Dice& dice, int vocab, int max_model_len);

/// How long the job's tools run.
inline engine::Nanos gap_of(engine::JobId job) {
  return engine::Nanos(25'000'000 * (1 + engine::index(job)));
}

struct Serving {
  engine::EngineConfig engine;
  policies::PolicyConfig policy;
  model::DType kv_type = model::DType::f32;
  backends::Checks checks = backends::Checks::off;
  /// Called with job, turn, position and logits of every position computed; may be empty.
  std::function<void(int, int, int, std::span<const float>)> on_row = {};
  /// Faults of copies from and to the host tier, if any; as CopierOptions::fault.
  std::function<backends::CopyFault(engine::CopyId)> copy_fault = {};
  bool pinned_host = true;  // of a device's host tier
};
/// Every request in one pass, one at a time, without shared KV: the reference for all servings.
Serving plain_serving(int max_model_len, model::DType kv_type);

/// The result of a serving, and its events.
struct Served {
  std::map<std::pair<int, int>, Tokens> answers;  // by job and turn
  /// Hash of the logits that follow a position, by job, turn and position.
  std::map<std::tuple<int, int, int>, std::uint64_t> logits;
  std::vector<std::string> decisions;  // by step: the decisions as text
  int steps = 0, preemptions = 0, hit_tokens = 0, pins = 0, evictions = 0;
  /// Requested blocks, by event and reason: stores and loads of a host tier.
  std::map<std::pair<engine::KvEventKind, engine::KvReason>, int> copied;
};
/// Serves all jobs to their end, sampling freely, in virtual time that depends on the plans alone.
/// A host tier copies on a thread of its own, in real time. Throws std::logic_error when a position
/// that is computed twice gets two different logits.
Served serve(const backends::CpuWeights& weights, const std::vector<Job>& jobs,
             const Serving& serving);
/// Serves the same jobs in the same time with another backend, sampling freely, or forced to these
/// answers. A tier needs the backend's copier.
Served serve_on(engine::Backend& backend, const std::vector<Job>& jobs, const Serving& serving,
                const Served* answers = nullptr, engine::BlockCopier* copier = nullptr);
/// The same with the simulator, which replays these answers.
Served simulate(const std::vector<Job>& jobs, const Serving& serving, const Served& answers);

/// The first difference of a serving from the plain one; empty if there is none.
std::string difference(const Served& served, const Served& plain);

/// The first step with different decisions; empty if there is none.
std::string first_other_decision(const Served& a, const Served& b);

}  // namespace cpu_test
