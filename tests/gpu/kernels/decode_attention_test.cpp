#include <array>
#include <map>

#include "kernels/layers/layers.hpp"
#include "tests/gpu/kernels/attention_world.hpp"
#include "tests/gpu/kernels/captured.hpp"
#include "tests/gpu/kernels/logged_segments.hpp"

using namespace gpu_test;

namespace {

constexpr int kContexts[] = {1,   7,   15,  16,  17,  63,  64,   65,   80,
                             255, 256, 257, 511, 512, 513, 1000, 1025, 5000};

void check_decode(const WorldShape& shape, const std::vector<Sequence>& sequences) {
  INFO(name(shape.type) << ", group " << shape.group << ", head_dim " << shape.head_dim
                        << ", block size " << shape.block_size << ", first context "
                        << sequences[0].context);
  AttentionWorld world(shape, sequences);
  world.check_result(world.decode());
}

std::vector<Sequence> of_contexts(const std::vector<int>& contexts) {
  std::vector<Sequence> sequences;
  for (const int context : contexts) sequences.push_back({context, 1});
  return sequences;
}

}  // namespace

TEST_CASE("single queries attend to contexts of any length as in the reference", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int context : kContexts) check_decode({type, 4, 2, 128, 16, 0}, {{context, 1}});
}

TEST_CASE("single queries of all groups, head widths and block sizes are right", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int group : {1, 2, 3, 4, 7, 8})
      for (const int head_dim : {64, 128})
        for (const int block_size : {8, 16, 24, 64, 128})
          check_decode({type, group, 2, head_dim, block_size, 0}, of_contexts({777, 31, 1}));
}

TEST_CASE("single queries attend to KV of e4m3 as in the reference", "[gpu][fp8][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int context : kContexts)
        check_decode({type, 4, 2, head_dim, 16, 0, true}, {{context, 1}});
      for (const int group : {1, 3, 8})
        for (const int block_size : {8, 24, 128})
          check_decode({type, group, 2, head_dim, block_size, 0, true}, of_contexts({777, 31, 1}));
    }
  check_decode({Type::bf16, 4, 8, 128, 16, 4, true},
               of_contexts({20001, 1, 64, 300, 17, 1000, 900, 5000}));
}

TEST_CASE("a mixed batch with shared blocks is right", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    check_decode({type, 4, 2, 128, 16, 4}, of_contexts({5000, 1, 64, 300, 17, 1000, 900, 70}));
}

TEST_CASE("contexts of more splits than the minimum length allows are right", "[gpu]") {
  NEEDS_DEVICE;
  const int context = 20001;
  REQUIRE(gpu::decode_split_length(context) > 512);
  REQUIRE((context + gpu::decode_split_length(context) - 1) / gpu::decode_split_length(context) <=
          gpu::kDecodeMaxSplits);
  check_decode({Type::bf16, 4, 1, 128, 16, 0}, {{context, 1}});
}

TEST_CASE("splits are multiples of 64 and never too many, whatever the context", "[gpu]") {
  for (int context = 1; context < 300000; context += context < 5000 ? 1 : 997) {
    const int length = gpu::decode_split_length(context);
    REQUIRE(length % 64 == 0);
    REQUIRE((context + length - 1) / length <= gpu::kDecodeMaxSplits);
  }
}

namespace {

/// A launch for one sequence of a world, with its own workspace.
struct OneRow {
  OneRow(AttentionWorld& world, int sequence) : row(Ints{sequence}), op(world.decode_op()) {
    op.rows = 1;
    op.sequences = row.get();
    op.workspace = workspace.get();
  }

  Device<std::int32_t> row;
  gpu::DecodeAttention op;
  Device<unsigned char> workspace{gpu::decode_workspace_bytes(1, op.shape)};
};

}  // namespace

TEST_CASE("a sequence's result is bitwise the same alone and in a batch", "[gpu]") {
  NEEDS_DEVICE;
  const bool e4m3 = GENERATE(false, true);
  for (const Type type : kHalfTypes) {
    // With eight key heads the batch has too many splits for quarters; most sequences alone do not.
    AttentionWorld world({type, 4, 8, 128, 16, 0, e4m3},
                         of_contexts({1000, 3, 5000, 257, 64, 2000}));
    const Halves together = world.decode();
    world.poison_out();
    for (const std::int32_t s : world.all_sequences()) {
      const OneRow alone(world, s);
      gpu::plan_decode(alone.op, nullptr);
      gpu::decode_attention(alone.op, nullptr);
      check(cudaDeviceSynchronize());
    }
    CHECK(world.out() == together);
  }
}

TEST_CASE("quarters of splits, computed by four CTAs, give the bits of whole splits", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      for (const int context : {1, 16, 31, 32, 33, 64, 65, 127, 128, 129, 160, 511, 512, 513, 545,
                                1000, 4096, 4097, 4608}) {
        INFO("head_dim " << head_dim << ", context " << context);
        const bool e4m3 = context % 2 == 0;
        AttentionWorld world({type, 4, 2, head_dim, 16, 0, e4m3}, of_contexts({context}));
        OneRow row(world, 0);
        const Halves by_quarters = world.decode(row.op);
        row.op.whole_splits = true;
        CHECK(world.decode(row.op) == by_quarters);
      }
}

TEST_CASE("an early launch reads the plan and the last token's keys when they are there", "[gpu]") {
  NEEDS_WGMMA;
  const bool whole = GENERATE(false, true);
  // A kernel that lets the next one start at once and then takes some 40 us, on few
  // multiprocessors: the append waits for it, and the early launch beside it.
  const int n = 1024, k = 14336;
  const Device<std::uint16_t> x(static_cast<std::size_t>(k)), y(static_cast<std::size_t>(n)),
      w(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
  gpu::SmallGemm slow{.rows = 1, .n = n, .k = k, .y_stride = n, .x = x.get(), .w = w.get()};
  slow.y = y.get();
  for (const int context : {1, 2, 32, 33, 128, 129, 512, 513, 545, 640, 1000, 5000, 5120}) {
    INFO("context " << context << ", whole splits " << whole);
    AttentionWorld world({Type::bf16, 4, 8, 128, 16, 0}, of_contexts({context}));
    const Device<std::int32_t> position(Ints{context - 1});
    OneRow row(world, 0);
    row.op.whole_splits = whole;
    Halves other = world.qkv();
    std::reverse(other.begin(), other.end());
    const Device<std::uint16_t> other_qkv(other);
    gpu::AppendKv append{.type = world.type(),
                         .shape = world.heads(),
                         .tokens = 1,
                         .qkv = world.device_qkv(),
                         .positions = position.get(),
                         .sequence = row.row.get(),
                         .kv = world.kv()};
    gpu::append_kv(append, nullptr);
    const Halves expected = world.decode(row.op);
    for (int i = 0; i < 10; ++i) {
      append.qkv = other_qkv.get();
      gpu::append_kv(append, nullptr);
      REQUIRE(world.decode(row.op) != expected);
      row.workspace.poison();
      append.qkv = world.device_qkv();
      gpu::DecodeAttention early = row.op;
      early.early = true;
      gpu::plan_decode(row.op, nullptr);
      gpu::decode_attention(row.op, nullptr);
      gpu::small_gemm(slow, nullptr);
      gpu::append_kv(append, nullptr);
      gpu::decode_attention(early, nullptr);
      REQUIRE(world.out() == expected);
    }
  }
}

TEST_CASE("decode attention gives the same bits run after run", "[gpu]") {
  NEEDS_DEVICE;
  AttentionWorld world({Type::bf16, 4, 8, 128, 16, 0}, of_contexts({5000, 5000, 4000, 4100}));
  const Halves first = world.decode();
  world.check_result(first);
  for (int i = 0; i < 10; ++i) REQUIRE(world.decode() == first);
}

TEST_CASE("a captured launch serves other contexts, and skips padding rows", "[gpu]") {
  NEEDS_DEVICE;
  const std::vector<int> contexts = {700, 5000, 33, 260};
  AttentionWorld world({Type::bf16, 4, 2, 128, 16, 0}, of_contexts(contexts));
  const Halves expected = world.decode();
  Device<std::int32_t> rows(Ints{-1, -1, -1, -1, -1, -1});
  const Device<unsigned char> workspace(gpu::decode_workspace_bytes(6, world.heads()));
  gpu::DecodeAttention op = world.decode_op();
  op.rows = 6;
  op.sequences = rows.get();
  op.workspace = workspace.get();

  Captured launches([&](cudaStream_t stream) {
    gpu::plan_decode(op, stream);
    gpu::decode_attention(op, stream);
  });
  for (const Ints& live :
       {Ints{0, -1, 1, 2, -1, 3}, Ints{3, 2, 1, 0, -1, -1}, Ints{-1, 2, -1, -1, -1, -1}}) {
    rows = live;
    world.poison_out();
    launches.replay();
    const Halves found = world.out();
    const auto width = static_cast<long>(world.out_width());
    for (const std::int32_t s : world.all_sequences()) {
      const bool computed = std::count(live.begin(), live.end(), s) > 0;
      const Halves row(found.begin() + s * width, found.begin() + (s + 1) * width);
      CHECK(row == (computed
                        ? Halves(expected.begin() + s * width, expected.begin() + (s + 1) * width)
                        : Halves(row.size(), 0xffff)));
    }
  }
}

namespace {

/// Number of slots read per (block, key head), of keys and of values.
using Touched = std::map<std::pair<unsigned, int>, std::array<int, 2>>;

/// Runs `attention` with a log and returns what it read.
template <class Attention>
Touched logged(const gpu::LoggedWork& work, std::size_t rows, kernels::AccessKernel kernel,
               const Attention& attention) {
  const bool prefill = kernel == kernels::AccessKernel::prefill_attention;
  const LoggedSegments segments(work, std::vector<std::uint8_t>(rows, prefill ? 1 : 0));
  const gpu::AccessLog log = segments.log();
  attention(&log);
  Touched tokens;
  for (const auto& [header, r] : segments.of(kernel, 1)) {
    REQUIRE(r.kind < 2);
    CHECK((r.flags & kernels::kPrefillAccess) == (prefill ? kernels::kPrefillAccess : 0));
    tokens[{block_of(r), r.kv_head}][r.kind] += r.n_slots;
  }
  return tokens;
}

/// The tokens that a full read of every context touches.
Touched touched(const AttentionWorld& world, int block_size) {
  Touched tokens;
  for (const std::int32_t s : world.all_sequences())
    for (int position = 0; position < world.context()[static_cast<std::size_t>(s)]; ++position)
      for (int head = 0; head < world.heads().kv_heads; ++head)
        for (int& count : tokens[{static_cast<unsigned>(world.tables()[static_cast<std::size_t>(
                                      s * world.table_stride() + position / block_size)]),
                                  head}])
          ++count;
  return tokens;
}

/// Splits of all contexts, and the longest.
gpu::LoggedWork decode_work(const AttentionWorld& world, int block_size) {
  gpu::LoggedWork work;
  for (const std::int32_t context : world.context()) {
    const int length = gpu::decode_split_length(context);
    work.decode_splits += (context + length - 1) / length;
    work.decode_length = std::max(work.decode_length, std::min(length, context));
  }
  work.block_size = block_size;
  work.kv_heads = world.heads().kv_heads;
  return work;
}

}  // namespace

TEST_CASE("the access log holds every token read, once, and changes no result", "[gpu]") {
  NEEDS_DEVICE;
  for (const int block_size : {8, 16, 24, 64}) {
    INFO("block size " << block_size);
    AttentionWorld decoding({Type::bf16, 4, 2, 128, block_size, 0}, of_contexts({1000, 5, 300}));
    const Halves decoded = decoding.decode();
    CHECK(logged(decode_work(decoding, block_size), 3, kernels::AccessKernel::decode_attention,
                 [&](auto* log) { CHECK(decoding.decode(log) == decoded); }) ==
          touched(decoding, block_size));

    // Prompts of one tile each read their keys once.
    AttentionWorld prompts({Type::bf16, 4, 2, 128, block_size, 0}, {{500, 30}, {20, 20}});
    const gpu::LoggedWork work = {
        .prefill_tiles = 2, .prefill_keys = 500, .block_size = block_size, .kv_heads = 2};
    for (const bool portable : {false, true}) {
      const Halves prefilled = prompts.prefill({gpu::KvSource::paged, nullptr, portable});
      CHECK(logged(work, 2, kernels::AccessKernel::prefill_attention, [&](auto* log) {
              CHECK(prompts.prefill({gpu::KvSource::paged, log, portable}) == prefilled);
            }) == touched(prompts, block_size));
    }
  }
}

TEST_CASE("the access log holds every token of splits that are looked up in parts", "[gpu]") {
  NEEDS_DEVICE;
  for (const int block_size : {8, 16}) {
    INFO("block size " << block_size);
    AttentionWorld world({Type::bf16, 4, 2, 128, block_size, 0}, of_contexts({40'000, 33}));
    const Halves decoded = world.decode();
    CHECK(logged(decode_work(world, block_size), 2, kernels::AccessKernel::decode_attention,
                 [&](auto* log) { CHECK(world.decode(log) == decoded); }) ==
          touched(world, block_size));
  }
}
