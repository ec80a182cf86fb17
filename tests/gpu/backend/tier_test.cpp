#include "tests/engine/support/engine_world.hpp"
#include "tests/gpu/backend/gpu_world.hpp"
#include "workers/backends/cuda/cuda_copier.hpp"
#include "workers/backends/errors.hpp"

using namespace gpu_backend_test;
using backends::cuda::CudaCopier;

namespace {

constexpr int kJobs = 8, kTurns = 3, kBlock = 16;

/// Turns of jobs in the order of submission: each extends the previous one.
struct Turn {
  Tokens prompt;
  Tokens answer;
};
using Script = std::vector<Turn>;

/// Compares the model's samples with the recorded answers, which the engine continues with.
class Compared final : public engine::Backend {
 public:
  explicit Compared(engine::Backend& backend) : backend_(backend) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    const engine::StepResult result = backend_.execute(plan);
    std::size_t row = 0;
    for (const engine::ScheduledRequest& share : plan.scheduled) {
      if (!share.samples) continue;
      const engine::TokenId token = result.sampled[row++];
      const engine::Request& request = *share.request;
      const auto at = static_cast<std::size_t>(request.num_outputs());
      if (request.spec.forced.empty()) continue;
      ++compared;
      differing += token != request.spec.forced[at];
    }
    return result;
  }
  int compared = 0, differing = 0;

 private:
  engine::Backend& backend_;
};

backends::CudaCellOptions cell_of(int blocks, bool fp8_kv) {
  backends::CudaCellOptions options = small_cell(blocks, kBlock);
  options.fp8_kv = fp8_kv;
  return options;
}

/// Serves all jobs' first turns, then all second ones, and so on.
class TierServing {
 public:
  TierServing(const backends::cuda::DeviceWeights& weights, int blocks, int host_slots,
              CudaCopier::Options options = {}, bool fp8_kv = false)
      : backend(make_backend(weights, cell_of(blocks, fp8_kv))), compared(*backend) {
    config_.kv = {.num_blocks = blocks + 1, .block_size = kBlock};
    config_.scheduler = {
        .max_num_batched_tokens = 128, .max_num_seqs = 8, .max_model_len = blocks * kBlock};
    if (host_slots == 0) return;
    config_.tier.kind = engine::TierKind::offload;
    config_.tier.store_mode = engine::StoreMode::all;
    config_.tier.host_blocks = host_slots;
    memory_ = std::make_unique<backends::HostMemory>(
        cuda_locking(), backends::HostMemoryOptions{.piece_bytes = std::size_t{4} << 20});
    memory_->reserve(host_slots, static_cast<std::size_t>(backend->block_bytes()));
    options.debug = true;
    copier.emplace(0, backends::cuda::BlockArena{backend->arena(), backend->block_bytes()},
                   *memory_, backend->fence(), std::move(options));
  }

  /// Without `recorded`, answers are sampled freely.
  Script serve(const Script* recorded) {
    engine::WallClock clock;
    support::CountingSink sink;
    const policies::PolicyConfig policy;
    const auto order = policies::make_order(policy);
    const auto retention = policies::make_retention(policy);
    engine::Engine engine(config_, clock, compared, *order, *retention, sink,
                          copier ? &*copier : nullptr);
    Script script(kJobs * kTurns);
    for (int turn = 0; turn < kTurns; ++turn) {
      for (int job = 0; job < kJobs; ++job) submit(engine, script, recorded, job, turn);
      const auto first = static_cast<std::size_t>(turn * kJobs);
      while (!engine.idle())
        for (const engine::Request* request : engine.step().finished)
          script[first + index(request->spec.job)].answer = request->outputs;
    }
    return script;
  }

  std::unique_ptr<backends::cuda::GpuBackend> backend;
  Compared compared;

 private:
  static void submit(engine::Engine& engine, Script& script, const Script* recorded, int job,
                     int turn) {
    const auto at = static_cast<std::size_t>(turn * kJobs + job);
    Tokens prompt = some_tokens(40 + 7 * job, 517, 31 * job + 101 * turn);
    if (turn > 0) {
      const Turn& before = script[at - kJobs];
      Tokens all = before.prompt;
      all.insert(all.end(), before.answer.begin(), before.answer.end());
      all.insert(all.end(), prompt.begin(), prompt.begin() + 10);
      prompt = std::move(all);
    }
    script[at].prompt = std::move(prompt);
    engine::RequestSpec spec;
    spec.job = engine::JobId{static_cast<std::uint32_t>(job)};
    spec.turn = turn;
    spec.prompt = script[at].prompt;
    spec.max_tokens = 12;
    if (recorded != nullptr) spec.forced = (*recorded)[at].answer;
    engine.submit(spec);
  }

  engine::EngineConfig config_;
  std::unique_ptr<backends::HostMemory> memory_;

 public:
  std::optional<CudaCopier> copier;  // declared after the memory that it copies to
};

}  // namespace

TEST_CASE("turns with restored KV continue as with all KV on the device", "[fp8]") {
  NEEDS_DEVICE;
  const bool fp8_kv = GENERATE(false, true);
  for (const auto architecture : {model::Architecture::llama, model::Architecture::opt}) {
    const auto weights = on_device(small_model(architecture, model::DType::f16));
    const Script plain = TierServing(weights, 400, 0, {}, fp8_kv).serve(nullptr);
    TierServing tiered(weights, 24, 200, {}, fp8_kv);
    tiered.serve(&plain);
    const auto& loads = tiered.copier->traffic(engine::CopyDirection::load);
    const auto& stores = tiered.copier->traffic(engine::CopyDirection::store);
    std::cout << tiered.compared.differing << " of " << tiered.compared.compared
              << " tokens differ, " << loads.bytes / tiered.backend->block_bytes()
              << " blocks loaded, " << stores.bytes / tiered.backend->block_bytes() << " stored\n";
    CHECK(tiered.compared.compared == kJobs * kTurns * 12);
    CHECK(tiered.compared.differing <= tiered.compared.compared / 50);
    CHECK(loads.bytes > 0);
  }
}

TEST_CASE("a block that never arrives on the host is noticed when a turn loads it") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::f16));
  const Script plain = TierServing(weights, 400, 0).serve(nullptr);
  int batches = 0;
  TierServing broken(weights, 24, 200, {.debug = true, .skip_copy = [&](engine::CopyId) {
                                          return ++batches % 3 == 0;
                                        }});
  CHECK_THROWS_AS(broken.serve(&plain), backends::CorruptBlock);
}
