// The access log of the reference kernels while a model runs.
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "tests/backends/access_check.hpp"
#include "tests/cpu/hand_plan.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/cpu/cpu_backend.hpp"

using namespace cpu_test;
using backends::Access;
using backends::AccessLogOptions;
using backends::AccessMismatch;
using backends::IndexRanges;
using Catch::Matchers::Contains;
using kernels::AccessKind;

namespace {

constexpr int kLoggedBlock = 4;
const backends::KvPool kLoggedPool{.num_blocks = 12, .block_size = kLoggedBlock};

/// Two prompts, of 6 and 3 tokens, then a decoded token of the first beside a chunk of a third.
class TwoSteps {
 public:
  explicit TwoSteps(std::optional<AccessLogOptions> log) : plans_(kLoggedBlock) {
    backends::CpuOptions options;
    options.kv_type = model::DType::f32;
    options.access_log = std::move(log);
    backend_.emplace(small_llama(), kLoggedPool, options);
    engine::Request& a = plans_.request(small_tokens(7), {1, 2});
    engine::Request& b = plans_.request(small_tokens(3, 30), {3});
    engine::Request& c = plans_.request(small_tokens(9, 9), {5, 6, 4});
    execute(plans_.step({{a, 0, 6, 2}, {b, 0, 3, 1}}));
    engine::StepPlan second = plans_.step({{a, 6, 7}, {c, 0, 5, 2}});
    second.scheduled[0].decode = true;
    execute(second);
    execute(plans_.step({{c, 5, 9, 1}}));
  }
  const backends::AccessLog& log() { return backend_->access_log()->finish(); }

  std::vector<engine::TokenId> tokens;

 private:
  void execute(const engine::StepPlan& plan) {
    for (const engine::TokenId token : backend_->execute(plan).sampled) tokens.push_back(token);
  }
  HandPlans plans_;
  std::optional<backends::CpuBackend> backend_;
};

AccessLogOptions layers(const std::string& layers) {
  return backends::checked({.layers = IndexRanges::parse(layers)});
}

/// Slots accessed, by step, row and kind.
std::map<std::tuple<int, int, AccessKind>, int> slots_of(const backends::AccessLog& log) {
  std::map<std::tuple<int, int, AccessKind>, int> slots;
  for (const Access& access : log.accesses())
    slots[{static_cast<int>(access.step), access.row, access.kind}] += access.n_slots;
  return slots;
}

}  // namespace

TEST_CASE("every slot of a row's context is read, and every new one written, for every head",
          "[cpu]") {
  TwoSteps steps(layers("0"));
  const int heads = small_llama().shape().kv_heads;
  std::map<std::tuple<int, int, AccessKind>, int> wanted;
  const auto row = [&](int step, int row, int context, int added) {
    for (const AccessKind read : {AccessKind::read_key, AccessKind::read_value})
      wanted[{step, row, read}] = heads * context;
    for (const AccessKind write : {AccessKind::write_key, AccessKind::write_value})
      wanted[{step, row, write}] = heads * added;
  };
  row(1, 0, 6, 6);
  row(1, 1, 3, 3);
  row(2, 0, 7, 1);
  row(2, 1, 5, 5);
  row(3, 0, 9, 4);
  CHECK(slots_of(steps.log()) == wanted);
  std::set<std::uint32_t> blocks;
  for (const Access& access : steps.log().accesses()) blocks.insert(access.block);
  CHECK(blocks == std::set<std::uint32_t>{1, 2, 3, 4, 5, 6});
  CHECK(steps.log().rows().size() == 5);
  CHECK(steps.log().rows()[2].decode);
}

TEST_CASE("a log changes nothing of what a model computes", "[cpu]") {
  CHECK(TwoSteps(layers("all")).tokens == TwoSteps(std::nullopt).tokens);
}

TEST_CASE("layers, heads and steps that are not asked for leave nothing in the log", "[cpu]") {
  AccessLogOptions options = layers("1");
  options.heads = IndexRanges::parse("1");
  options.steps = IndexRanges::parse("2-3");
  TwoSteps steps(options);
  CHECK_FALSE(steps.log().accesses().empty());
  for (const Access& access : steps.log().accesses()) {
    CHECK(access.layer == 1);
    CHECK(access.kv_head == 1);
    CHECK(access.step >= 2);
  }
  CHECK(steps.log().rows().size() == 3);
}

TEST_CASE("each access lies within a run of its kernel, and values are read after keys", "[cpu]") {
  TwoSteps steps(layers("0"));
  std::map<std::pair<std::uint64_t, kernels::AccessKernel>, backends::KernelRun> runs;
  for (const backends::KernelRun& run : steps.log().runs()) {
    CHECK(run.begin <= run.end);
    runs[{run.step, run.kernel}] = run;
  }
  CHECK(runs.size() == 3 + 3 + 1);  // appends, chunks, and one decode
  using Place = std::tuple<std::uint32_t, int, int, int>;
  std::map<Place, std::uint64_t> key_read;
  for (const Access& access : steps.log().accesses()) {
    const bool write = access.kind >= AccessKind::write_key;
    const bool decode = access.step == 2 && access.row == 0;
    const auto& run = runs.at({access.step, write    ? kernels::AccessKernel::append
                                            : decode ? kernels::AccessKernel::decode_attention
                                                     : kernels::AccessKernel::prefill_attention});
    CHECK(access.time >= run.begin);
    CHECK(access.time + access.duration_ns <= run.end);
    const Place place = {access.step, access.row, access.kv_head, static_cast<int>(access.block)};
    if (access.kind == AccessKind::read_key) key_read[place] = access.time;
    if (access.kind == AccessKind::read_value) CHECK(access.time >= key_read.at(place));
  }
}

TEST_CASE("a stale entry of a block table is found in the log, though every result looks sound",
          "[cpu]") {
  HandPlans plans(kLoggedBlock);
  engine::Request& request = plans.request(small_tokens(6), {1, 2});
  const engine::StepPlan& plan = plans.step({{request, 0, 6, 2}});
  backends::KvArena arena(backends::kv_layout(small_llama().shape(), kLoggedBlock),
                          model::DType::f32, 12);
  backends::CpuAccessLog log(
      layers("0"), {.block_size = kLoggedBlock, .kv_heads = small_llama().shape().kv_heads},
      small_llama().shape().layers, kLoggedPool.num_blocks);
  backends::StepBatch batch;
  batch.fill(plan, kLoggedBlock);
  const int stale = GENERATE(0, 1);
  INFO("stale: " << stale);
  if (stale != 0) batch.block_tables[1] = 7;  // the second block's old position
  backends::ForwardPass forward(small_llama(), arena);
  kernels::reference::AccessTrace* const trace = log.begin_step(plan);
  REQUIRE(trace != nullptr);
  forward.begin(batch);
  forward.layer(0, trace);
  log.end_step();
  for (const float x : forward.hidden()) REQUIRE(std::isfinite(x));
  if (stale == 0) {
    CHECK_NOTHROW(log.finish());
  } else {
    CHECK_THROWS_WITH(log.finish(), Contains("block 7, which is not in its block table"));
  }
}
