#include <algorithm>
#include <array>

#include "kernels/attention/attention.hpp"
#include "kernels/reference/kv_blocks.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"
#include "tests/gpu/kernels/logged_segments.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

struct AppendCase {
  Type type = Type::bf16;
  int group = 4, kv_heads = 2, head_dim = 128, block_size = 16, tokens = 1;
  bool bias = false, norms = false, rotates = true, keep_contiguous = false;
  int first_position = 0;
  bool e4m3 = false;  // KV
};

/// Appends random tokens of two alternating sequences and compares everything that is written.
class AppendRun {
 public:
  explicit AppendRun(const AppendCase& c)
      : c_(c),
        shape_{c.group * c.kv_heads, c.kv_heads, c.head_dim},
        layout_{2, c.kv_heads, c.block_size, c.head_dim} {
    for (int t = 0; t < c.tokens; ++t) {
      sequence_.push_back(t % 2);
      positions_.push_back(c.first_position + t / 2);
    }
    place_blocks();
    qkv_ = numbers_.halves(c.type, std::int64_t{c.tokens} * shape_.qkv_width());
    bias_ = numbers_.halves(c.type, shape_.qkv_width());
    query_norm_ = numbers_.halves(c.type, c.head_dim);
    key_norm_ = numbers_.halves(c.type, c.head_dim);
    for (int i = 0; i < c.head_dim / 2; ++i)
      frequencies_.push_back(
          static_cast<float>(std::pow(500000.0, -2.0 * i / static_cast<double>(c.head_dim))));
  }

  void run() {
    Device<std::uint16_t> qkv(qkv_), bias(bias_);
    Device<std::uint8_t> arena(arena_size() * (c_.e4m3 ? 1 : 2));
    const Device<std::uint16_t> query_norm(query_norm_), key_norm(key_norm_);
    const Device<float> frequencies(frequencies_);
    const Device<std::int32_t> positions(positions_), sequence(sequence_), tables(tables_);
    Device<float> rotations(static_cast<std::size_t>(c_.tokens * c_.head_dim));
    gpu::compute_rotations({.tokens = c_.tokens,
                            .pairs = c_.head_dim / 2,
                            .positions = positions.get(),
                            .inverse_frequencies = frequencies.get(),
                            .scale = 1.25f,
                            .out = rotations.get()},
                           nullptr);
    gpu::AppendKv op;
    op.type = c_.type;
    op.shape = shape_;
    op.tokens = c_.tokens;
    op.qkv = qkv.get();
    op.keep_contiguous = c_.keep_contiguous;
    op.bias = c_.bias ? bias.get() : nullptr;
    op.query_norm = c_.norms ? query_norm.get() : nullptr;
    op.key_norm = c_.norms ? key_norm.get() : nullptr;
    op.norm_eps = kNormEps;
    op.rotations = c_.rotates ? rotations.get() : nullptr;
    op.positions = positions.get();
    op.sequence = sequence.get();
    op.kv = {arena.get(), layout_, 1, tables.get(), stride_, c_.e4m3};
    gpu::append_kv(op, nullptr);
    compare(to_floats(c_.type, qkv.host()), kv_floats(c_.type, c_.e4m3, arena.host()));
  }

 private:
  static constexpr float kNormEps = 1e-3f;

  /// Blocks for the positions that are written; an id far outside the arena everywhere else.
  void place_blocks() {
    const int first = c_.first_position / c_.block_size;
    stride_ = (c_.first_position + c_.tokens) / c_.block_size + 1;
    const Ints order = numbers_.shuffled(2 * (stride_ - first));
    tables_.assign(static_cast<std::size_t>(2 * stride_), 1 << 24);
    auto next = order.begin();
    for (const int row : {0, stride_})
      for (int i = first; i < stride_; ++i) tables_[static_cast<std::size_t>(row + i)] = *next++;
    blocks_ = 2 * (stride_ - first);
  }

  std::size_t arena_size() const {
    return static_cast<std::size_t>(blocks_ * layout_.block_elements());
  }

  /// Normalizes the query and key heads of each token.
  void normalize(Floats& x) const {
    const Floats query = to_floats(c_.type, query_norm_), key = to_floats(c_.type, key_norm_);
    for (int t = 0; t < c_.tokens; ++t) {
      float* row = x.data() + std::int64_t{t} * shape_.qkv_width();
      float* keys = row + shape_.heads * c_.head_dim;
      reference::rms_norm(row, row, query.data(), shape_.heads, c_.head_dim, kNormEps);
      reference::rms_norm(keys, keys, key.data(), shape_.kv_heads, c_.head_dim, kNormEps);
    }
  }

  /// The fused projection with biases, norms and rotation, in float32.
  Floats rotated() const {
    Floats x = to_floats(c_.type, qkv_);
    const int width = shape_.qkv_width(), pairs = c_.head_dim / 2;
    if (c_.bias) reference::add_bias(x.data(), to_floats(c_.type, bias_).data(), c_.tokens, width);
    if (c_.norms) normalize(x);
    if (!c_.rotates) return x;
    Floats cosines(static_cast<std::size_t>(c_.tokens * pairs)), sines(cosines.size());
    reference::rope_angles(cosines.data(), sines.data(), positions_.data(), c_.tokens,
                           frequencies_.data(), pairs, 1.25f);
    reference::rope(x.data(), cosines.data(), sines.data(), c_.tokens, width,
                    shape_.heads + shape_.kv_heads, c_.head_dim);
    return x;
  }

  void compare(const Floats& found_qkv, const Floats& found_arena) const {
    const Floats all = rotated();
    const Floats before = to_floats(c_.type, qkv_);
    const int width = shape_.qkv_width(), queries = shape_.heads * c_.head_dim;
    Floats expected = all;
    if (!c_.keep_contiguous)
      for (int t = 0; t < c_.tokens; ++t)
        std::copy_n(before.begin() + t * width + queries, width - queries,
                    expected.begin() + t * width + queries);
    check_rows(found_qkv, expected, c_.head_dim, rounding(c_.type));

    Floats arena(arena_size(), std::nanf(""));
    const float* keys = all.data() + queries;
    reference::append_kv(arena.data(), layout_, 1, keys, keys + c_.kv_heads * c_.head_dim, width,
                         {c_.tokens, positions_.data(), sequence_.data(), tables_.data(), stride_});
    compare_arenas(found_arena, arena);
  }

  /// Checks that the written rows are close and that nothing else was written.
  void compare_arenas(const Floats& found, const Floats& expected) const {
    Floats found_rows, expected_rows;
    std::size_t strays = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(expected[i])) {
        strays += !std::isnan(found[i]);
      } else {
        found_rows.push_back(found[i]);
        expected_rows.push_back(expected[i]);
      }
    }
    CHECK(strays == 0);
    constexpr double kOfE4m3 = 4e-2;
    check_rows(found_rows, expected_rows, c_.head_dim, c_.e4m3 ? kOfE4m3 : rounding(c_.type));
    if (!c_.e4m3) return;
    // Few of the exact numbers are so near the middle of two of e4m3 that they are rounded apart.
    std::size_t apart = 0;
    for (std::size_t i = 0; i < found_rows.size(); ++i)
      apart +=
          found_rows[i] != kernels::to_float(kernels::from_float<kernels::E4m3>(expected_rows[i]));
    CHECK(apart <= 1 + found_rows.size() / 500);
  }

  AppendCase c_;
  gpu::HeadShape shape_;
  kernels::KvLayout layout_;
  Numbers numbers_{41};
  Ints sequence_, positions_, tables_;
  int stride_ = 0, blocks_ = 0;
  Halves qkv_, bias_, query_norm_, key_norm_;
  Floats frequencies_;
};

}  // namespace

TEST_CASE("queries, keys and values are biased, rotated and stored as by the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      for (const int tokens : {1, 15, 16, 17, 63, 64, 65, 257})
        for (const bool bias : {false, true}) {
          INFO(name(type) << ", head_dim " << head_dim << ", " << tokens << " tokens, " << bias);
          AppendRun({type, 4, 2, head_dim, 16, tokens, bias, false, true, false, 0}).run();
          AppendRun({type, 1, 3, head_dim, 16, tokens, bias, !bias, !bias, true, 0}).run();
        }
}

TEST_CASE("KV of e4m3 is biased, normalized, rotated and then rounded once", "[gpu][fp8][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      for (const bool bias : {false, true}) {
        INFO(name(type) << ", head_dim " << head_dim << ", bias " << bias);
        AppendRun({type, 4, 2, head_dim, 16, 65, bias, !bias, true, bias, 3, true}).run();
      }
}

TEST_CASE("query and key heads are normalized before they rotate, values are not", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      for (const int group : {1, 4, 7}) {
        INFO(name(type) << ", head_dim " << head_dim << ", group " << group);
        AppendRun({type, group, 3, head_dim, 16, 37, false, true, true, true, 5}).run();
        AppendRun({type, group, 1, head_dim, 16, 2, true, true, true, false, 0}).run();
      }
}

TEST_CASE("blocks of any multiple of eight tokens and any group are appended to", "[gpu]") {
  NEEDS_DEVICE;
  for (const int block_size : {8, 16, 24, 32, 48, 128, 256})
    for (const int group : {1, 2, 4, 6, 7, 8}) {
      INFO("block size " << block_size << ", group " << group);
      AppendRun({Type::bf16, group, 2, 128, block_size, 70, false, false, true, false, 3}).run();
    }
}

TEST_CASE("a model of many heads is appended to in several passes", "[gpu]") {
  NEEDS_DEVICE;
  AppendRun({Type::f16, 1, 64, 128, 16, 5, true, true, false, false, 0}).run();
}

TEST_CASE("far positions rotate by the right angle", "[gpu]") {
  NEEDS_DEVICE;
  for (const int first : {8191, 131000, 1000000})
    AppendRun({Type::f16, 4, 2, 128, 16, 9, false, false, true, false, first}).run();
}

TEST_CASE("the access log holds every key and value that is appended", "[gpu]") {
  NEEDS_DEVICE;
  const gpu::HeadShape shape = {4, 2, 64};
  const kernels::KvLayout layout = {3, 2, 16, 64};
  const Device<std::uint16_t> qkv(Numbers(43).halves(Type::f16, 5 * shape.qkv_width())),
      arena(static_cast<std::size_t>(4 * layout.block_elements()));
  const Device<std::int32_t> positions(Ints{14, 15, 16, 0, 9}), sequence(Ints{0, 0, 0, 1, -1}),
      tables(Ints{2, 0, 3, 1});
  const LoggedSegments segments({.tokens = 4,
                                 .append_warps = gpu::append_kv_warps(shape),
                                 .append_records = gpu::append_kv_records(shape),
                                 .block_size = 16,
                                 .kv_heads = 2},
                                {1, 0});
  const gpu::AccessLog log = segments.log();
  gpu::AppendKv op;
  op.type = Type::f16;
  op.shape = shape;
  op.tokens = 5;
  op.qkv = qkv.get();
  op.positions = positions.get();
  op.sequence = sequence.get();
  op.kv = {arena.get(), layout, 2, tables.get(), 2};
  op.log = &log;
  gpu::append_kv(op, nullptr);
  using kernels::AccessKind;
  std::vector<std::array<int, 6>> found, expected;
  for (const auto& [header, r] : segments.of(kernels::AccessKernel::append, 2)) {
    CHECK(r.n_slots == 1);
    CHECK(r.duration == 0);
    found.push_back({static_cast<int>(block_of(r)), r.first_slot, r.kv_head, r.kind, r.row,
                     r.flags & kernels::kPrefillAccess});
  }
  for (const auto& [block, slot, row] : {std::array{0, 0, 0}, {2, 14, 0}, {2, 15, 0}, {3, 0, 1}})
    for (const int head : {0, 1})
      for (const AccessKind kind : {AccessKind::write_key, AccessKind::write_value})
        expected.push_back({block, slot, head, static_cast<int>(kind), row, row == 0 ? 1 : 0});
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  CHECK(found == expected);
}

TEST_CASE("padding tokens store nothing", "[gpu]") {
  NEEDS_DEVICE;
  const gpu::HeadShape shape = {2, 2, 64};
  const kernels::KvLayout layout = {1, 2, 16, 64};
  const Device<std::uint16_t> qkv(Halves(static_cast<std::size_t>(2 * shape.qkv_width()), 0x3c00)),
      arena(static_cast<std::size_t>(layout.block_elements()));
  const Device<std::int32_t> positions(Ints{1 << 20, -5}), sequence(Ints{-1, -1}), tables(Ints{0});
  gpu::AppendKv op;
  op.type = Type::f16;
  op.shape = shape;
  op.tokens = 2;
  op.qkv = qkv.get();
  op.positions = positions.get();
  op.sequence = sequence.get();
  op.kv = {arena.get(), layout, 0, tables.get(), 1};
  gpu::append_kv(op, nullptr);
  CHECK(arena.host() == Halves(static_cast<std::size_t>(layout.block_elements()), 0xffff));
}
