#include "workers/backends/cuda/gpu_backend.hpp"

#include <algorithm>

#include "kernels/blocks/blocks.hpp"
#include "workers/backends/errors.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends::cuda {
namespace {

const CudaCellOptions& checked(const CudaCellOptions& options, const model::ModelConfig& config) {
  check_kernels(cuda_kernels(), options.block_size, config.shape);
  return options;
}

StepLimits limits_of(const CudaCellOptions& options) {
  return {
      .tokens = options.max_batched_tokens,
      .sequences = options.max_seqs,
      .blocks_a_sequence = (options.max_model_len + options.block_size - 1) / options.block_size};
}

kernels::gpu::KvSource prompts_from(const CudaCellOptions& options) {
  return options.prefill_attention == PrefillAttention::contiguous
             ? kernels::gpu::KvSource::contiguous
             : kernels::gpu::KvSource::paged;
}

bool is_finite(std::uint16_t bits, kernels::gpu::Type type) {
  const unsigned infinity = type == kernels::gpu::Type::bf16 ? 0x7f80u : 0x7c00u;
  return (bits & 0x7fffu) < infinity;
}

engine::RequestId request_of(const engine::StepPlan& plan, const StepBatch& batch,
                             std::size_t row) {
  return plan.scheduled[static_cast<std::size_t>(batch.sequence[row])].request->id;
}

}  // namespace

GpuBackend::GpuBackend(int device, const DeviceWeights& weights, const CudaCellOptions& options,
                       GemmTable& gemms)
    : device_(device),
      weights_(weights),
      options_(checked(options, weights.config())),
      layout_{weights.config().shape.layers, weights.config().shape.kv_heads, options.block_size,
              weights.config().shape.head_dim},
      activations_(weights.config(), limits_of(options)),
      upload_(limits_of(options), activations_.heads, prompts_from(options)),
      forward_(weights, activations_, stream_, gemms) {
  for (Flight& flight : flights_) flight.kept = PinnedBuffer(activations_.sampled_bytes());
}

std::int64_t GpuBackend::block_bytes() const {
  return layout_.block_elements() *
         size_of(options_.fp8_kv ? model::DType::e4m3 : weights_.config().dtype);
}

void GpuBackend::take_pool(const PoolPlan& plan) {
  graphs_.clear();
  pool_ = DeviceBuffer();
  pool_ = DeviceBuffer(static_cast<std::size_t>(plan.bytes()));
  if (!options_.debug) return;
  check(cudaMemsetAsync(pool_.data(), 0xff, pool_.bytes(), stream_.get()), "poisoning the pool");
  stream_.synchronize();
}

void GpuBackend::warm_up() {
  const int longest = std::min(options_.max_model_len, weights_.config().shape.max_context) - 1;
  const int length = std::min(options_.max_batched_tokens, longest);
  const int blocks = length / options_.block_size + 1;  // with room for one more token
  const std::vector<engine::TokenId> prompt(static_cast<std::size_t>(length), 0);
  engine::Request request;
  request.spec.prompt = prompt;
  for (int i = 1; i <= blocks; ++i)
    request.blocks.push_back(engine::BlockId{static_cast<std::uint32_t>(i)});
  take_pool({.num_blocks = blocks + 1,
             .block_size = options_.block_size,
             .block_bytes = block_bytes(),
             .device = {}});
  engine::StepPlan plan;
  plan.total_tokens = length;
  plan.scheduled.push_back({&request, engine::SchedKind::fresh, length, 0, blocks, true, false});
  execute(plan);
  request.outputs.push_back(0);
  plan.total_tokens = 1;
  plan.scheduled[0] = {&request, engine::SchedKind::running, 1, length, 0, true, true};
  execute(plan);
  pool_ = DeviceBuffer();
  graphs_.clear();
  total_ = {};
}

void GpuBackend::tune() {
  with_device_errors([&] { forward_.tune(options_.max_batched_tokens, options_.max_seqs); });
}

void GpuBackend::record_graphs() {
  if (!options_.graphs) return;
  batch_.fill({}, options_.block_size);
  with_device_errors([&] {
    for (int rows = 1;; rows = padded_rows(rows + 1)) {
      run_decodes(rows, upload_.upload_decodes(batch_, rows, stream_));
      stream_.synchronize();
      if (rows == options_.max_seqs) return;
    }
  });
}

/// Rounds up to one of a few sizes, which limits the number of graphs.
int GpuBackend::padded_rows(int decodes) const {
  constexpr int kFine = 32, kStep = 8, kCoarse = 32;
  int rows = 1;
  while (rows < decodes && rows < kStep) rows *= 2;
  if (decodes > kStep) rows = (decodes + kStep - 1) / kStep * kStep;
  if (decodes > kFine) rows = (decodes + kCoarse - 1) / kCoarse * kCoarse;
  return std::min(rows, options_.max_seqs);
}

/// Replays the graph of this size. Its first step is launched kernel by kernel instead, which loads
/// the kernels, and then captured.
void GpuBackend::run_decodes(int rows, const StepArrays& step) {
  const std::pair<int, bool> size = {rows, logged_};
  if (const auto known = graphs_.find(size); known != graphs_.end())
    return known->second.launch(stream_);
  run_layers(step);
  if (options_.graphs)
    graphs_.emplace(size, Graph(stream_, [&] { run_layers(upload_.decodes_of(rows)); }));
}

void GpuBackend::run_layers(const StepArrays& step) {
  const KvArena kv = arena_of_kernels();
  if (!logged_) return forward_.run(step, kv);
  forward_.run(step, kv, {}, [this](int layer) { return access_log_->of_layer(layer); });
}

void GpuBackend::start_access_log(int num_blocks) {
  if (!options_.access_log) return;
  const bool unread = options_.prefill_attention == PrefillAttention::contiguous;
  access_log_.emplace(device_, *options_.access_log, activations_.heads, layout_, num_blocks,
                      unread,
                      LargestStep{.tokens = options_.max_batched_tokens,
                                  .sequences = options_.max_seqs,
                                  .context = options_.max_model_len});
}

engine::StepResult GpuBackend::execute(const engine::StepPlan& plan) {
  if (plan.scheduled.empty()) return {};
  check(cudaSetDevice(device_), "choosing the device");
  unapplied_.clear();
  const Flight* flight = nullptr;
  with_device_errors([&] {
    flight = &enqueue(plan);
    complete(*flight);
  });
  landed_ = launched_;
  if (first_nan(*flight, activations_.sampled) != nullptr) find_nan(plan);
  return result_of(*flight, activations_.sampled);
}

void GpuBackend::launch(const engine::StepPlan& plan) {
  check(cudaSetDevice(device_), "choosing the device");
  with_device_errors([&] {
    Flight& flight = enqueue(plan);
    const int results = 2 * flight.result_rows;
    const kernels::gpu::HostRows kept = {.from = activations_.sampled,
                                         .to = flight.kept.as<std::int32_t>(),
                                         .rows = 1,
                                         .width = results,
                                         .from_stride = results,
                                         .to_stride = results};
    kernels::gpu::fetch_host_rows(&kept, 1, stream_.get());
    flight.end.record(stream_);
  });
  unapplied_.keep(plan);
}

engine::StepResult GpuBackend::wait() {
  const Flight& flight = flights_[++landed_ % flights_.size()];
  with_device_errors([&] { complete(flight); });
  const auto* results = flight.kept.as<std::int32_t>();
  if (const SampledRow* row = first_nan(flight, results))
    throw NotFinite(flight.step, NotFinite::kUnknown, row->request, row->position);
  return result_of(flight, results);
}

/// The first row whose logits hold a NaN; null without one.
const SampledRow* GpuBackend::first_nan(const Flight& flight, const std::int32_t* results) {
  const std::int32_t* const flags = results + flight.result_rows;
  for (std::size_t i = 0; i < flight.rows.size(); ++i)
    if (flags[i] != 0) return &flight.rows[i];
  return nullptr;
}

engine::StepResult GpuBackend::result_of(const Flight& flight, const std::int32_t* results) {
  sampled_.resize(flight.rows.size());
  std::transform(results, results + flight.rows.size(), sampled_.begin(),
                 [](std::int32_t token) { return static_cast<engine::TokenId>(token); });
  const engine::Nanos device = engine::from_seconds(cost_.device);
  return {.sampled = sampled_,
          .duration = device,
          .split = engine::StepSplit{engine::from_seconds(cost_.prepare + cost_.launch), device,
                                     engine::from_seconds(cost_.wait)}};
}

void GpuBackend::on_phase(engine::StepPhase phase, std::uint64_t step) {
  schedule_range_.reset();
  if (phase == engine::StepPhase::execute) return;
  step_range_.reset();
  if (phase == engine::StepPhase::done) return;
  step_range_.emplace(ProfilerName::step, step);
  schedule_range_.emplace(ProfilerName::schedule, step);
}

/// Puts the step on the stream, behind those that are there.
GpuBackend::Flight& GpuBackend::enqueue(const engine::StepPlan& plan) {
  const engine::WallClock clock;
  Flight& flight = flights_[++launched_ % flights_.size()];
  unapplied_.fill(plan, options_.block_size, batch_);
  check_step(batch_, weights_.config().shape, limits_of(options_));
  if (!options_.debug) batch_.new_blocks.clear();  // only read in debug mode
  const bool decodes = std::all_of(plan.scheduled.begin(), plan.scheduled.end(),
                                   [](const auto& share) { return share.decode && share.samples; });
  const int rows = decodes ? padded_rows(batch_.num_sequences()) : 0;
  const engine::Nanos prepared = clock.now();
  const ProfilerRange range(ProfilerName::launch, plan.step);
  flight.start.record(stream_);
  const StepArrays& step = decodes ? upload_.upload_decodes(batch_, rows, stream_)
                                   : upload_.upload(batch_, plan, stream_);
  upload_.take_tokens(unapplied_.taken(), activations_.sampled, stream_);
  if (options_.debug)
    kernels::gpu::poison_blocks(pool_.data(), block_bytes(), step.new_blocks, step.num_new_blocks,
                                stream_.get());
  logged_ = access_log_ && access_log_->begin_step(plan, stream_);
  if (decodes) {
    run_decodes(rows, step);
  } else {
    run_layers(step);
  }
  flight.end.record(stream_);
  if (logged_) access_log_->end_step(plan, flight.end);
  logged_ = false;
  flight.step = plan.step;
  flight.result_rows = step.num_logits_rows;
  flight.rows.clear();
  for (const std::int32_t row : batch_.logits_rows)
    flight.rows.push_back({request_of(plan, batch_, static_cast<std::size_t>(row)),
                           batch_.positions[static_cast<std::size_t>(row)]});
  flight.prepare = engine::to_seconds(prepared);
  flight.launch = engine::to_seconds(clock.now() - prepared);
  return flight;
}

/// Waits for the step, and adds what it cost.
void GpuBackend::complete(const Flight& flight) {
  const engine::WallClock clock;
  flight.end.synchronize();
  cost_ = {.prepare = flight.prepare,
           .launch = flight.launch,
           .device = Event::seconds_between(flight.start, flight.end),
           .wait = engine::to_seconds(clock.now())};
  total_.prepare += cost_.prepare;
  total_.launch += cost_.launch;
  total_.device += cost_.device;
  total_.wait += cost_.wait;
}

/// Computes the step again and checks every layer's output. This rewrites the step's KV with the
/// same values.
void GpuBackend::find_nan(const engine::StepPlan& plan) {
  with_device_errors([&] {
    const StepArrays& step = upload_.upload(batch_, plan, stream_);
    forward_.run(step, arena_of_kernels(), [&](int layer) { require_finite(plan, layer); });
  });
  const auto row = static_cast<std::size_t>(batch_.logits_rows.front());
  throw NotFinite(plan.step, NotFinite::kHead, request_of(plan, batch_, row),
                  batch_.positions[row]);
}

void GpuBackend::require_finite(const engine::StepPlan& plan, int layer) const {
  if (layer == NotFinite::kEmbedding) return;  // embeddings are copies of the weights
  const auto width = static_cast<std::size_t>(weights_.config().shape.hidden);
  std::vector<std::uint16_t> values(batch_.tokens.size() * width);
  check(cudaMemcpyAsync(values.data(), activations_.projected, values.size() * sizeof(values[0]),
                        cudaMemcpyDeviceToHost, stream_.get()),
        "reading a layer's output");
  stream_.synchronize();
  const auto bad = std::find_if(values.begin(), values.end(), [&](std::uint16_t bits) {
    return !is_finite(bits, activations_.type);
  });
  if (bad == values.end()) return;
  const std::size_t row = static_cast<std::size_t>(bad - values.begin()) / width;
  throw NotFinite(plan.step, layer, request_of(plan, batch_, row), batch_.positions[row]);
}

std::vector<float> GpuBackend::logits() const {
  const std::size_t rows = batch_.logits_rows.size();
  const auto vocab = static_cast<std::size_t>(weights_.config().shape.vocab);
  const auto stride = static_cast<std::size_t>(activations_.logits_stride);
  std::vector<float> out(rows * vocab);
  if (rows > 0)
    check(cudaMemcpy2D(out.data(), vocab * sizeof(float), activations_.logits,
                       stride * sizeof(float), vocab * sizeof(float), rows, cudaMemcpyDeviceToHost),
          "reading logits");
  return out;
}

}  // namespace backends::cuda
