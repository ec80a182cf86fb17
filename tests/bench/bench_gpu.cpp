#include "tests/bench/bench_gpu.hpp"

#include <algorithm>
#include <random>

#include "tests/bench/batch.hpp"
#include "tests/bench/step_floor.hpp"
#include "workers/backends/sim/sim_backend.hpp"
#include "workers/cell/cuda_execution.hpp"
#include "workers/engine/engine.hpp"
#include "workers/policies/factory.hpp"
#include "workers/workload/request_list.hpp"

namespace worker {
namespace {

using backends::StepCost;
using engine::to_seconds;

constexpr int kContext = 1024;  // of decode steps
constexpr int kDecodes[] = {1, 8, 16, 32, 64, 128, 256};
constexpr int kPrompts[] = {128, 512, 2048, 8192};
constexpr int kLongContext = 100000, kLongDecodes[] = {4, 16};
constexpr int kAgentContext = 16000, kAgentDecodes = 16;
/// Tokens of a chunk, and those before it.
constexpr std::pair<int, int> kChunks[] = {{64, 7000}, {64, kLongContext}, {700, kLongContext}};
constexpr int kCopiedBlocks = 512;

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/// Counts steps, and sums the time within the backend and the lower bound of theirs.
class Watched final : public engine::Backend {
 public:
  Watched(engine::Backend& backend, const model::ModelShape& shape,
          const backends::Ceilings& ceilings)
      : backend_(backend), shape_(shape), ceilings_(ceilings) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    const engine::Nanos start = clock_.now();
    const engine::StepResult result = backend_.execute(plan);
    seconds += to_seconds(clock_.now() - start);
    if (!plan.scheduled.empty()) add_floor(plan);
    return result;
  }
  void launch(const engine::StepPlan& plan) override {
    const engine::Nanos start = clock_.now();
    backend_.launch(plan);
    seconds += to_seconds(clock_.now() - start);
    add_floor(plan);
  }
  engine::StepResult wait() override {
    const engine::Nanos start = clock_.now();
    const engine::StepResult result = backend_.wait();
    seconds += to_seconds(clock_.now() - start);
    return result;
  }
  double seconds = 0, floor = 0, steps = 0;

 private:
  void add_floor(const engine::StepPlan& plan) {
    floor += step_floor(backends::shape_of(plan), shape_, ceilings_);
    ++steps;
  }

  engine::Backend& backend_;
  const model::ModelShape& shape_;
  const backends::Ceilings& ceilings_;
  engine::WallClock clock_;
};

struct Ignore final : engine::TraceSink {
  void on_step(const engine::StepTrace&) override {}
};

class Measurement {
 public:
  Measurement(const GpuBench& bench, const OnFigure& report)
      : bench_(bench),
        report_(report),
        shape_(bench.config.transformer->config.shape),
        ceilings_(backends::measure_ceilings(0)),
        device_(backends::open_cuda_device(0, bench.cache)) {}

  void run() {
    report_ceilings();
    prepare();
    for (const int sequences : kDecodes) decode(sequences, kContext);
    decode(kAgentDecodes, kAgentContext);
    for (const int sequences : kLongDecodes) decode(sequences, kLongContext);
    for (const int tokens : kPrompts) prefill(tokens, 0);
    for (const auto& [tokens, prior] : kChunks) prefill(tokens, prior);
    mixed(32, 8000, 512);
    copies();
    decode_beside(engine::CopyDirection::store, "stores");
    decode_beside(engine::CopyDirection::load, "loads");
    if (bench_.offline.empty()) return;
    serve_offline("offline mix, ", false);
    serve_offline("offline mix, asynchronous, ", true);
  }

 private:
  void report_ceilings() {
    report_({"device copy, read and written", ceilings_.copy_gb_s, "GB/s", {}});
    report_({"device memory, read", ceilings_.read_gb_s, "GB/s", {}});
    report_({"matrix product, bf16, 8192^3", ceilings_.gemm_tflop_s, "TFLOP/s", {}});
    report_({"the same for a second", ceilings_.sustained_gemm_tflop_s, "TFLOP/s", {}});
    report_({"copy to the device, page-locked", ceilings_.to_device_gb_s, "GB/s", {}});
    report_({"copy to the host, page-locked", ceilings_.to_host_gb_s, "GB/s", {}});
    report_({"copies both ways at once", ceilings_.both_ways_gb_s, "GB/s", {}});
  }

  /// Creates one cell with room for the largest decode step and for the copies.
  void prepare() {
    const engine::WallClock clock;
    load_cuda_weights(bench_.config, *device_, {});
    report_({"weights put in place", to_seconds(clock.now()), "s", {}});
    backends::CudaCellOptions options = cuda_cell_options(bench_.config);
    options.max_batched_tokens = *std::rbegin(kPrompts);
    options.max_seqs = *std::rbegin(kDecodes);
    std::int64_t tokens = std::int64_t{options.max_seqs} * (kContext + options.block_size);
    if (fits(kLongContext)) tokens = std::max(tokens, long_tokens(options.block_size));
    options.pool = {.kv_tokens = tokens};
    options.host_slots = 2 * kCopiedBlocks;
    const engine::Nanos start = clock.now();
    cell_ = device_->make_cell(options);
    report_(
        {"cell made, products measured unless known", to_seconds(clock.now() - start), "s", {}});
    cell_->host_memory()->wait_ready();
  }

  /// Tokens of the pool for long contexts: those of the largest step that fit into half of the
  /// device's memory, but at least those of the smallest step.
  std::int64_t long_tokens(int block_size) const {
    const std::int64_t each = kLongContext + block_size;
    return std::clamp(device_->info().memory_bytes / 2 / model::kv_bytes_per_token(shape_),
                      kLongDecodes[0] * each, kLongDecodes[1] * each);
  }

  struct StepTimes {
    double wall, device;           // medians, ms
    double prepare, launch, wait;  // the same
  };
  template <class Before>
  StepTimes time_steps(const engine::StepPlan& plan, int repeats, const Before& before) {
    const engine::WallClock clock;
    std::vector<double> wall, device, prepare, launch, wait;
    constexpr int kWarmUp = 3;
    for (int i = 0; i < repeats + kWarmUp; ++i) {
      before();
      const StepCost was = cell_->steps();
      const engine::Nanos start = clock.now();
      cell_->backend().execute(plan);
      const double seconds = to_seconds(clock.now() - start);
      const StepCost& is = cell_->steps();
      if (i < kWarmUp) continue;
      wall.push_back(1e3 * seconds);
      device.push_back(1e3 * (is.device - was.device));
      prepare.push_back(1e3 * (is.prepare - was.prepare));
      launch.push_back(1e3 * (is.launch - was.launch));
      wait.push_back(1e3 * (is.wait - was.wait));
    }
    return {median(wall), median(device), median(prepare), median(launch), median(wait)};
  }
  StepTimes time_steps(const engine::StepPlan& plan, int repeats) {
    return time_steps(plan, repeats, [] {});
  }

  double floor_ms(const engine::StepPlan& plan) const {
    return 1e3 * step_floor(backends::shape_of(plan), shape_, ceilings_);
  }
  /// Where products run at the rate that they keep for a second.
  double sustained_floor_ms(const engine::StepPlan& plan) const {
    backends::Ceilings sustained = ceilings_;
    sustained.gemm_tflop_s = ceilings_.sustained_gemm_tflop_s;
    return 1e3 * step_floor(backends::shape_of(plan), shape_, sustained);
  }
  Batch batch(int sequences, int context) const {
    return {
        sequences,
        context,
        {.num_blocks = cell_->pool().num_blocks, .block_size = bench_.config.engine.kv.block_size},
        shape_.vocab};
  }
  /// Whether a sequence may be as long. 1,024 tokens are left for a chunk behind it.
  bool fits(int context) const {
    return context + 1024 <= bench_.config.engine.scheduler.max_model_len &&
           context + 1024 <= shape_.max_context;
  }

  void decode(int sequences, int context) {
    if (!fits(context)) return;
    Batch all = batch(sequences, context);
    const engine::StepPlan& plan = all.step(context - 1, true);
    const StepTimes times = time_steps(plan, bench_.repeats);
    const std::string what =
        "decode, context " + std::to_string(context) + ", " + std::to_string(sequences);
    report_({what, times.wall, "ms", floor_ms(plan)});
    report_({what + ", on the device", times.device, "ms", {}});
    report_({what + ", arrays made", times.prepare, "ms", {}});
    report_({what + ", launched", times.launch, "ms", {}});
    report_({what + ", waited", times.wait, "ms", {}});
  }

  void prefill(int tokens, int prior) {
    if (!fits(prior) || prior + tokens > shape_.max_context) return;
    Batch all = batch(1, prior + tokens);
    const engine::StepPlan& plan = all.step(prior, false);
    const StepTimes times = time_steps(plan, std::max(3, bench_.repeats / 4));
    const std::string what = "prefill, one chunk of " + std::to_string(tokens) +
                             (prior > 0 ? " after " + std::to_string(prior) : "");
    report_({what, times.wall, "ms", floor_ms(plan)});
    report_({what + ", by the product's rate for a second", times.wall, "ms",
             sustained_floor_ms(plan)});
    if (prior > 0) report_({what + ", on the device", times.device, "ms", {}});
  }

  /// A chunk of a prompt beside decodes, against the sum of both floors.
  void mixed(int decodes, int context, int tokens) {
    if (!fits(context)) return;
    Batch all = batch(decodes + 1, context);
    engine::StepPlan plan = all.step(context - 1, true), chunk = plan;
    engine::ScheduledRequest& prompt = plan.scheduled.back();
    prompt = {prompt.request, engine::SchedKind::running, tokens, 0, 0, false, false};
    chunk.scheduled = {prompt};
    chunk.total_tokens = tokens;
    plan.total_tokens = decodes + tokens;
    Batch others = batch(decodes, context);
    const double floors = floor_ms(others.step(context - 1, true)) + sustained_floor_ms(chunk);
    report_({"decode, context " + std::to_string(context) + ", " + std::to_string(decodes) +
                 " beside a chunk of " + std::to_string(tokens),
             time_steps(plan, bench_.repeats).wall, "ms", floors});
  }

  /// Copies of blocks that are not adjacent on either side.
  std::vector<engine::BlockCopy> some_copies(int first, int count) const {
    std::vector<engine::BlockCopy> copies;
    const int blocks = cell_->pool().num_blocks - 1, slots = 2 * kCopiedBlocks;
    for (int i = first; i < first + count; ++i)
      copies.push_back({engine::BlockId{static_cast<std::uint32_t>(1 + i * 37 % blocks)},
                        engine::HostSlot{static_cast<std::uint32_t>(i * 7 % slots)}});
    return copies;
  }
  double seconds_for(const std::vector<engine::CopyDirection>& directions) {
    const engine::WallClock clock;
    std::vector<double> all;
    for (int round = 0; round < 5; ++round) {
      const engine::Nanos start = clock.now();
      int first = 0;
      for (const auto direction : directions) {
        cell_->copier()->submit(direction, some_copies(first, kCopiedBlocks), start);
        first += kCopiedBlocks;
      }
      for (std::size_t done = 0; done < directions.size(); done += drain()) {
      }
      all.push_back(to_seconds(clock.now() - start));
    }
    return median(all);
  }
  /// Number of batches that have completed since the last call.
  std::size_t drain() {
    done_.clear();
    cell_->copier()->poll({}, done_);
    return done_.size();
  }

  void copies() {
    using enum engine::CopyDirection;
    const double bytes = static_cast<double>(cell_->pool().block_bytes) * kCopiedBlocks;
    const std::string tokens =
        std::to_string(kCopiedBlocks * bench_.config.engine.kv.block_size) + " tokens";
    const auto bound = [&](double gb_s) { return 1e3 * bytes / (1e9 * gb_s); };
    report_(
        {"restore of " + tokens, 1e3 * seconds_for({load}), "ms", bound(ceilings_.to_device_gb_s)});
    report_({"save of " + tokens, 1e3 * seconds_for({store}), "ms", bound(ceilings_.to_host_gb_s)});
    report_({"restore and save at once", 2e-9 * bytes / seconds_for({store, load}), "GB/s",
             ceilings_.both_ways_gb_s});
  }

  /// Copies continuously in one direction while steps decode.
  void decode_beside(engine::CopyDirection direction, const std::string& name) {
    constexpr int kSequences = 32, kBlocks = 32, kUnderWay = 3;
    Batch all = batch(kSequences, kContext);
    const engine::StepPlan& plan = all.step(kContext - 1, true);
    const int repeats = 3 * bench_.repeats;
    const double alone = time_steps(plan, repeats).wall;
    int under_way = 0, first = 0;
    const double beside =
        time_steps(plan, repeats, [&] {
          under_way -= static_cast<int>(drain());
          for (; under_way < kUnderWay; ++under_way, first += kBlocks)
            cell_->copier()->submit(direction, some_copies(first % 4096, kBlocks), {});
        }).wall;
    while (under_way > 0) under_way -= static_cast<int>(drain());
    report_({"decode of 32 beside " + name + " without a pause", beside, "ms", alone});
  }

  void serve_offline(const std::string& name, bool asynchronous);

  const GpuBench& bench_;
  const OnFigure& report_;
  const model::ModelShape& shape_;
  backends::Ceilings ceilings_;
  std::unique_ptr<backends::CudaDevice> device_;
  std::unique_ptr<backends::CudaCell> cell_;
  std::vector<engine::CopyDone> done_;
};

/// Prompts of random tokens, all different.
std::vector<std::vector<engine::TokenId>> prompts_of(const std::vector<RequestLength>& lengths,
                                                     int vocab) {
  std::mt19937 numbers(7);
  std::vector<std::vector<engine::TokenId>> prompts;
  for (const RequestLength& length : lengths) {
    auto& prompt = prompts.emplace_back(static_cast<std::size_t>(length.prompt));
    for (engine::TokenId& token : prompt)
      token = static_cast<engine::TokenId>(numbers() % static_cast<unsigned>(vocab));
  }
  return prompts;
}

/// Serves all requests at once, until the last has its tokens.
void Measurement::serve_offline(const std::string& name, bool asynchronous) {
  engine::EngineConfig config = bench_.config.engine;
  config.async_scheduling = asynchronous;
  config.tier = {};
  config.kv.num_blocks = cell_->pool().num_blocks;
  Watched backend(cell_->backend(), shape_, ceilings_);
  const auto order = policies::make_order(bench_.config.policy);
  const auto retention = policies::make_retention(bench_.config.policy);
  Ignore sink;
  engine::WallClock clock;
  engine::Engine engine(config, clock, backend, *order, *retention, sink);
  const auto prompts = prompts_of(bench_.offline, shape_.vocab);
  const StepCost before = cell_->steps();
  double tokens = 0;
  const engine::Nanos start = clock.now();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    engine::RequestSpec spec;
    spec.job = engine::JobId{static_cast<std::uint32_t>(i)};
    spec.prompt = prompts[i];
    spec.max_tokens = bench_.offline[i].output;
    engine.submit(spec);
    tokens += bench_.offline[i].prompt + bench_.offline[i].output;
  }
  while (!engine.idle()) engine.step();
  const double seconds = to_seconds(clock.now() - start);
  const StepCost& after = cell_->steps();
  report_({name + "tokens in and out", tokens / seconds, "tok/s", tokens / backend.floor});
  report_({name + "steps", backend.steps, "", {}});
  const auto each = [&](const char* what, double total) {
    report_({name + "a step's " + what, 1e3 * total / backend.steps, "ms", {}});
  };
  each("scheduling", seconds - backend.seconds);
  each("arrays", after.prepare - before.prepare);
  each("launches", after.launch - before.launch);
  each("waiting", after.wait - before.wait);
  each("time on the device", after.device - before.device);
  each("time that the device waits", seconds - (after.device - before.device));
}

}  // namespace

std::vector<RequestLength> read_lengths(const std::filesystem::path& file) {
  std::vector<RequestLength> lengths;
  for (const workload::RequestSize& size : workload::read_sizes(file.string()))
    lengths.push_back({size.prompt_tokens, size.output_tokens});
  return lengths;
}

void measure_gpu(const GpuBench& bench, const OnFigure& report) {
  Measurement(bench, report).run();
}

}  // namespace worker
