#include <stdexcept>

#include "kernels/layers/layers.hpp"
#include "tests/gpu/kernels/attention_world.hpp"
#include "tests/gpu/kernels/captured.hpp"

using namespace gpu_test;

namespace {

/// What a model does to heads before their rotation.
struct Heads {
  bool biased = false, query_norm = false, key_norm = false;
};
constexpr Heads kBiased{.biased = true}, kNormed{.query_norm = true, .key_norm = true},
    kBiasedNormed{true, true, true};

/// Sequences that decode, and what their keys are rotated by. A sequence, its row of the launch and
/// its query token have different numbers: the first sequence has two more tokens, which belong to
/// no decode, rows are in reverse order, and the first is padding.
class Decodes {
 public:
  Decodes(const WorldShape& shape, const std::vector<int>& contexts)
      : world(shape, of_contexts(contexts)),
        rows_(reversed(world.all_sequences())),
        sequences_(per_token(world.all_sequences(), -1)),
        positions_(per_token(last_positions(contexts), 0)),
        rotations_(static_cast<std::size_t>(world.tokens() * shape.head_dim)),
        bias_(Numbers(7).halves(shape.type, world.heads().qkv_width())),
        norms_(Numbers(8).halves(shape.type, 2 * shape.head_dim)),
        head_dim_(shape.head_dim),
        workspace_(gpu::decode_workspace_bytes(rows(), world.heads())) {
    const int pairs = shape.head_dim / 2;
    Floats frequencies;
    for (int i = 0; i < pairs; ++i)
      frequencies.push_back(std::pow(10000.f, -static_cast<float>(i) / static_cast<float>(pairs)));
    const Device<float> on_device(frequencies);
    gpu::compute_rotations({.tokens = world.tokens(),
                            .pairs = pairs,
                            .positions = positions_.get(),
                            .inverse_frequencies = on_device.get(),
                            .scale = 1.25f,
                            .out = rotations_.get()},
                           nullptr);
    check(cudaDeviceSynchronize());
  }

  Heads heads;

  /// Takes these sequences, or padding, as rows of the launch: one more than there are sequences.
  /// The others are not appended.
  void set_rows(const Ints& live) {
    Ints appended = world.all_sequences();
    for (std::int32_t& s : appended)
      if (std::count(live.begin(), live.end(), s) == 0) s = -1;
    rows_ = live;
    sequences_ = per_token(appended, -1);
  }

  /// Decode attention that appends what it needs, or for which append() has done so.
  gpu::DecodeAttention attention(const std::uint16_t* qkv, bool appends) {
    gpu::DecodeAttention op = world.decode_op();
    op.rows = rows();
    op.sequences = rows_.get();
    op.workspace = workspace_.get();
    op.qkv = qkv;
    op.rotations = appends ? rotations_.get() : nullptr;
    if (!appends) return op;
    op.bias = bias();
    op.query_norm = query_norm();
    op.key_norm = key_norm();
    op.norm_eps = kEpsilon;
    return op;
  }
  void append(std::uint16_t* qkv) {
    gpu::append_kv({.type = world.type(),
                    .shape = world.heads(),
                    .tokens = world.tokens(),
                    .qkv = qkv,
                    .bias = bias(),
                    .query_norm = query_norm(),
                    .key_norm = key_norm(),
                    .norm_eps = kEpsilon,
                    .rotations = rotations_.get(),
                    .positions = positions_.get(),
                    .sequence = sequences_.get(),
                    .kv = world.kv()},
                   nullptr);
  }

  AttentionWorld world;

 private:
  static constexpr int kOthers = 2;  // tokens after the first sequence's query token
  static constexpr float kEpsilon = 0.01f;

  int rows() const { return static_cast<int>(world.all_sequences().size()) + 1; }
  const std::uint16_t* bias() const { return heads.biased ? bias_.get() : nullptr; }
  const std::uint16_t* query_norm() const { return heads.query_norm ? norms_.get() : nullptr; }
  const std::uint16_t* key_norm() const {
    return heads.key_norm ? norms_.get() + head_dim_ : nullptr;
  }
  static std::vector<Sequence> of_contexts(const std::vector<int>& contexts) {
    std::vector<Sequence> sequences;
    for (const int context : contexts) sequences.push_back({context, 1});
    sequences[0].queries += kOthers;
    return sequences;
  }
  static Ints last_positions(const std::vector<int>& contexts) {
    Ints positions;
    for (const int context : contexts) positions.push_back(context - 1);
    return positions;
  }
  static Ints reversed(Ints sequences) {
    sequences.push_back(-1);
    std::reverse(sequences.begin(), sequences.end());
    return sequences;
  }
  /// The values of query tokens, and `other` for the others.
  static Ints per_token(Ints values, int other) {
    values.insert(values.begin() + 1, kOthers, other);
    return values;
  }

  Device<std::int32_t> rows_, sequences_, positions_;
  Device<float> rotations_;
  Device<std::uint16_t> bias_, norms_;
  int head_dim_;
  Device<unsigned char> workspace_;
};

/// Compares results and KV of an append and an attention with those of an attention that appends.
void check_appends(Decodes& decodes, bool whole_splits, const Heads& heads = {}) {
  INFO("whole splits " << whole_splits << ", biased " << heads.biased << ", query norm "
                       << heads.query_norm << ", key norm " << heads.key_norm);
  decodes.heads = heads;
  decodes.world.restore_arena();
  Device<std::uint16_t> qkv(decodes.world.qkv());
  decodes.append(qkv.get());
  gpu::DecodeAttention apart = decodes.attention(qkv.get(), false);
  apart.whole_splits = whole_splits;
  const Halves expected = decodes.world.decode(apart);
  const Bytes expected_kv = decodes.world.arena();

  decodes.world.restore_arena();
  REQUIRE(decodes.world.arena() != expected_kv);
  qkv = decodes.world.qkv();
  gpu::DecodeAttention together = decodes.attention(qkv.get(), true);
  together.whole_splits = whole_splits;
  CHECK(decodes.world.decode(together) == expected);
  CHECK(decodes.world.arena() == expected_kv);
  CHECK(qkv.host() == decodes.world.qkv());
}

void check_appends(const WorldShape& shape, const std::vector<int>& contexts,
                   const std::vector<Heads>& models = {{}}) {
  INFO(name(shape.type) << ", group " << shape.group << ", head_dim " << shape.head_dim
                        << ", block size " << shape.block_size << ", first context "
                        << contexts[0]);
  Decodes decodes(shape, contexts);
  for (const Heads& heads : models)
    for (const bool whole_splits : {false, true}) check_appends(decodes, whole_splits, heads);
}

}  // namespace

TEST_CASE("decode attention that appends gives the bits of an append before it", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int context : {1,   2,   15,  16,  17,  31,   32,   33,   127,   128,  129,
                                160, 511, 512, 513, 545, 1000, 4097, 5000, 20001, 40001})
        check_appends({type, 4, 2, head_dim, 16, 0}, {context});
      for (const int group : {1, 3, 8})
        for (const int block_size : {8, 24, 128})
          check_appends({type, group, 3, head_dim, block_size, 0}, {777, 31, 1, 1600, 64});
    }
}

TEST_CASE("decode attention that appends KV of e4m3 gives the bits of an append before it",
          "[gpu][fp8][short]") {
  NEEDS_DEVICE;
  const std::vector<Heads> models = {{}, kBiased, kBiasedNormed};
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int context : {1, 16, 17, 129, 513, 5000, 40'960})
        check_appends({type, 4, 2, head_dim, 16, 0, true}, {context}, models);
      for (const int block_size : {8, 24, 128})
        check_appends({type, 7, 3, head_dim, block_size, 0, true}, {777, 31, 1, 1600, 64}, models);
    }
}

TEST_CASE("decode attention appends a token far into a warp's keys", "[gpu]") {
  NEEDS_DEVICE;
  // With splits of more than 1,024 keys a warp has more than 16 tiles, whose blocks it looks up in
  // two parts. The last tokens of these contexts are in tiles 16 to 19.
  for (const int block_size : {16, 24})
    for (const int context : {34'753, 34'784, 36'864, 40'960})
      check_appends({Type::bf16, 4, 1, 128, block_size, 0}, {context}, {{}, kBiasedNormed});
}

TEST_CASE("decode attention that appends adds biases as an append before it does", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int context : {1, 16, 17, 129, 513, 5000})
        check_appends({type, 7, 4, head_dim, 16, 0}, {context}, {kBiased});
      for (const int group : {1, 6, 8})
        check_appends({type, group, 2, head_dim, 24, 0}, {777, 31, 1, 1600, 64}, {kBiased});
    }
}

TEST_CASE("decode attention that appends normalizes heads as an append before it does", "[gpu]") {
  NEEDS_DEVICE;
  const std::vector<Heads> models = {
      kNormed, kBiasedNormed, {.query_norm = true}, {.key_norm = true}};
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int context : {1, 16, 17, 129, 513, 5000})
        check_appends({type, 4, 8, head_dim, 16, 0}, {context}, models);
      for (const int group : {1, 5, 8})
        check_appends({type, group, 2, head_dim, 24, 0}, {777, 31, 1, 1600, 64}, models);
    }
}

TEST_CASE("biases and norms without rotations are refused", "[gpu]") {
  NEEDS_DEVICE;
  Decodes decodes({}, {100});
  decodes.heads = GENERATE(kBiased, Heads{.query_norm = true}, Heads{.key_norm = true});
  const Device<std::uint16_t> qkv(decodes.world.qkv());
  gpu::DecodeAttention op = decodes.attention(qkv.get(), true);
  op.rotations = nullptr;
  CHECK_THROWS_AS(gpu::decode_attention(op, nullptr), std::invalid_argument);
}

TEST_CASE("a large batch that appends gives the bits of an append before it", "[gpu]") {
  NEEDS_DEVICE;
  std::vector<int> contexts;
  for (int i = 0; i < 150; ++i) contexts.push_back(1 + 37 * i % 1900);
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      check_appends({type, 4, head_dim / 16, head_dim, 16, 0}, contexts, {{}, kBiased, kNormed});
}

TEST_CASE("a captured launch appends other rows, and none of padding", "[gpu]") {
  NEEDS_DEVICE;
  Decodes decodes({Type::bf16, 4, 2, 128, 16, 0}, {700, 5000, 33, 260});
  decodes.heads = kBiased;
  const Device<std::uint16_t> qkv(decodes.world.qkv());
  Device<std::uint16_t> appended(decodes.world.qkv());
  const gpu::DecodeAttention apart = decodes.attention(appended.get(), false),
                             together = decodes.attention(qkv.get(), true);
  Captured launches([&](cudaStream_t stream) {
    gpu::plan_decode(together, stream);
    gpu::decode_attention(together, stream);
  });
  for (const Ints& live : {Ints{0, -1, 1, 2, 3}, Ints{3, 2, -1, 0, -1}, Ints{-1, 2, -1, -1, -1}}) {
    decodes.set_rows(live);
    decodes.world.restore_arena();
    appended = decodes.world.qkv();
    decodes.append(appended.get());
    const Halves expected = decodes.world.decode(apart);
    const Bytes expected_kv = decodes.world.arena();
    decodes.world.restore_arena();
    decodes.world.poison_out();
    launches.replay();
    CHECK(decodes.world.out() == expected);
    CHECK(decodes.world.arena() == expected_kv);
  }
}

TEST_CASE("an early launch that appends reads the projection when it is there", "[gpu]") {
  NEEDS_WGMMA;
  const bool whole = GENERATE(false, true);
  const WorldShape shape = {Type::bf16, 4, 8, 128, 16, 0};
  const int n = gpu::HeadShape{32, 8, 128}.qkv_width(), k = 14336;
  const Device<std::uint16_t> x(Numbers(3).halves(shape.type, k)),
      w(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
  Device<std::uint16_t> qkv(static_cast<std::size_t>(n));
  gpu::fill_random({.type = shape.type,
                    .elements = std::int64_t{n} * k,
                    .seed = 5,
                    .amplitude = 0.01f,
                    .out = w.get()},
                   nullptr);
  gpu::SmallGemm project{.rows = 1, .n = n, .k = k, .y_stride = n, .x = x.get(), .w = w.get()};
  project.y = qkv.get();
  const Heads heads = GENERATE(Heads{}, kBiased, kBiasedNormed);
  for (const int context : {1, 2, 32, 33, 128, 129, 512, 513, 545, 640, 1000, 5000, 5120}) {
    INFO("context " << context << ", whole splits " << whole << ", biased " << heads.biased
                    << ", normed " << heads.key_norm);
    Decodes decodes(shape, {context});
    decodes.heads = heads;
    gpu::DecodeAttention op = decodes.attention(qkv.get(), true);
    op.whole_splits = whole;
    gpu::small_gemm(project, nullptr);
    const Halves expected = decodes.world.decode(op);
    const Bytes expected_kv = decodes.world.arena();
    gpu::DecodeAttention early = op;
    early.early = true;
    for (int i = 0; i < 10; ++i) {
      qkv.poison();
      REQUIRE(decodes.world.decode(op) != expected);  // and appends what is not a number
      decodes.world.poison_out();
      gpu::plan_decode(op, nullptr);
      gpu::decode_attention(op, nullptr);
      gpu::small_gemm(project, nullptr);
      gpu::decode_attention(early, nullptr);
      REQUIRE(decodes.world.out() == expected);
      REQUIRE(decodes.world.arena() == expected_kv);
    }
  }
}

TEST_CASE("a decode that appends is not logged", "[gpu]") {
  NEEDS_DEVICE;
  Decodes decodes({}, {100});
  const Device<std::uint16_t> qkv(decodes.world.qkv());
  gpu::DecodeAttention op = decodes.attention(qkv.get(), true);
  const gpu::AccessLog log = {};
  op.log = &log;
  op.whole_splits = true;
  CHECK_THROWS_AS(gpu::decode_attention(op, nullptr), std::invalid_argument);
}
