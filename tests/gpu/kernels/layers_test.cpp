#include "kernels/layers/layers.hpp"

#include <limits>

#include "kernels/random_weight.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

constexpr int kTokenCounts[] = {1, 15, 16, 17, 64, 257};

struct NormCase {
  Type type;
  int rows, width;
  bool layer_norm;
};

/// Runs add_norm and its reference twins on the same numbers and compares residual and output.
void check_add_norm(const NormCase& c) {
  INFO(name(c.type) << ", " << c.rows << " rows of " << c.width << ", LayerNorm " << c.layer_norm);
  Numbers numbers(7);
  const int count = c.rows * c.width;
  Floats x = numbers.many(count);
  const Halves addend = numbers.halves(c.type, count),
               addend_bias = numbers.halves(c.type, c.width),
               weight = numbers.halves(c.type, c.width), bias = numbers.halves(c.type, c.width);
  Device<float> residual(x);
  const Device<std::uint16_t> d_addend(addend), d_addend_bias(addend_bias), d_weight(weight),
      d_bias(bias), out(static_cast<std::size_t>(count));
  gpu::AddNorm op;
  op.type = c.type;
  op.rows = c.rows;
  op.hidden = c.width;
  op.residual = residual.get();
  op.addend = d_addend.get();
  op.addend_bias = c.layer_norm ? d_addend_bias.get() : nullptr;
  op.weight = d_weight.get();
  op.bias = c.layer_norm ? d_bias.get() : nullptr;
  op.out = out.get();
  gpu::add_norm(op, nullptr);

  reference::add(x.data(), to_floats(c.type, addend).data(), count);
  if (c.layer_norm)
    reference::add_bias(x.data(), to_floats(c.type, addend_bias).data(), c.rows, c.width);
  check_rows(residual.host(), x, c.width, 1e-6);
  Floats normed(x.size());
  const Floats w = to_floats(c.type, weight), b = to_floats(c.type, bias);
  if (c.layer_norm)
    reference::layer_norm(normed.data(), x.data(), w.data(), b.data(), c.rows, c.width, op.epsilon);
  else
    reference::rms_norm(normed.data(), x.data(), w.data(), c.rows, c.width, op.epsilon);
  check_rows(to_floats(c.type, out.host()), normed, c.width, rounding(c.type));
}

void check_argmax(Type type, const Floats& logits, int rows, int vocab, const Ints& expected,
                  const Ints& expected_nan) {
  const int stride = (vocab + 7) / 8 * 8 + 8;
  Floats padded(static_cast<std::size_t>(rows * stride), std::numeric_limits<float>::infinity());
  for (int r = 0; r < rows; ++r)
    std::copy_n(logits.begin() + r * vocab, vocab, padded.begin() + r * stride);
  const Device<float> wide(padded);
  const Device<std::uint16_t> narrow(to_halves(type == Type::f32 ? Type::bf16 : type, padded));
  const Device<std::int32_t> tokens(static_cast<std::size_t>(rows)),
      saw_nan(static_cast<std::size_t>(rows));
  Device<unsigned char> workspace(gpu::argmax_workspace_bytes(rows));
  workspace.zero();
  gpu::Argmax op;
  op.type = type;
  op.rows = rows;
  op.vocab = vocab;
  op.stride = stride;
  op.logits = type == Type::f32 ? static_cast<const void*>(wide.get()) : narrow.get();
  op.tokens = tokens.get();
  op.saw_nan = saw_nan.get();
  op.workspace = workspace.get();
  for (int repeat = 0; repeat < 2; ++repeat) {  // the workspace must be unchanged
    gpu::argmax(op, nullptr);
    CHECK(tokens.host() == expected);
    CHECK(saw_nan.host() == expected_nan);
  }
}

}  // namespace

TEST_CASE("a token's residual is its row of the table, and its position's row two further on",
          "[gpu]") {
  NEEDS_DEVICE;
  const int hidden = 1032, vocab = 50, places = 300;
  for (const Type type : kHalfTypes)
    for (const int tokens : kTokenCounts) {
      INFO(name(type) << ", " << tokens << " tokens");
      Numbers numbers(3);
      const Halves table = numbers.halves(type, vocab * hidden),
                   position_table = numbers.halves(type, (places + 2) * hidden);
      Ints ids, positions;
      for (int t = 0; t < tokens; ++t) {
        ids.push_back(numbers.below(vocab));
        positions.push_back(numbers.below(places));
      }
      const Device<std::uint16_t> d_table(table), d_positions(position_table);
      const Device<std::int32_t> d_ids(ids), d_places(positions);
      const Device<float> residual(static_cast<std::size_t>(tokens * hidden));
      gpu::Embed op;
      op.type = type;
      op.tokens = tokens;
      op.hidden = hidden;
      op.token_ids = d_ids.get();
      op.table = d_table.get();
      op.residual = residual.get();
      Floats expected(static_cast<std::size_t>(tokens * hidden));
      reference::embed(expected.data(), to_floats(type, table).data(), ids.data(), tokens, hidden);
      gpu::embed(op, nullptr);
      CHECK(residual.host() == expected);

      op.positions = d_places.get();
      op.position_table = d_positions.get();
      reference::add_learned_positions(expected.data(), to_floats(type, position_table).data(),
                                       positions.data(), tokens, hidden);
      gpu::embed(op, nullptr);
      CHECK(residual.host() == expected);
    }
}

TEST_CASE("a padding row's residual is zero", "[gpu]") {
  NEEDS_DEVICE;
  const Device<std::uint16_t> table(Halves(64, 0x3f80));
  const Device<std::int32_t> ids(Ints{0, -1});
  const Device<float> residual(128);
  gpu::Embed op;
  op.tokens = 2;
  op.hidden = 64;
  op.token_ids = ids.get();
  op.table = table.get();
  op.residual = residual.get();
  gpu::embed(op, nullptr);
  Floats expected(64, 1.f);
  expected.resize(128, 0.f);
  CHECK(residual.host() == expected);
}

TEST_CASE("the residual grows by the addend, and its norm is that of the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const bool layer_norm : {false, true}) {
      for (const int rows : kTokenCounts) check_add_norm({type, rows, 1032, layer_norm});
      for (const int width : {8, 64, 256, 4096, 5120, 8192, 8200, 32768})
        check_add_norm({type, 3, width, layer_norm});
    }
}

TEST_CASE("norms of chosen rows leave the residual alone", "[gpu]") {
  NEEDS_DEVICE;
  const int width = 512, rows = 9;
  Numbers numbers(11);
  const Floats x = numbers.many(rows * width);
  const Halves addend = numbers.halves(Type::bf16, rows * width), weight(width, 0x3f80);
  const Ints chosen = {8, 0, 3, 3};
  const Device<float> residual(x);
  const Device<std::uint16_t> d_addend(addend), d_weight(weight), out(chosen.size() * width);
  const Device<std::int32_t> d_chosen(chosen);
  gpu::AddNorm op;
  op.rows = static_cast<int>(chosen.size());
  op.hidden = width;
  op.row_ids = d_chosen.get();
  op.residual = residual.get();
  op.addend = d_addend.get();
  op.weight = d_weight.get();
  op.out = out.get();
  gpu::add_norm(op, nullptr);
  CHECK(residual.host() == x);

  Floats sum = x, normed(x.size()), expected;
  reference::add(sum.data(), to_floats(Type::bf16, addend).data(), rows * width);
  const Floats ones(width, 1.f);
  reference::rms_norm(normed.data(), sum.data(), ones.data(), rows, width, op.epsilon);
  for (const std::int32_t row : chosen)
    expected.insert(expected.end(), normed.begin() + row * width,
                    normed.begin() + (row + 1) * width);
  check_rows(to_floats(Type::bf16, out.host()), expected, width, rounding(Type::bf16));
}

TEST_CASE("a row's norm is bitwise the same beside any other rows, run after run", "[gpu]") {
  NEEDS_DEVICE;
  const int width = 4096, rows = 40;
  Numbers numbers(5);
  const Floats x = numbers.many(rows * width);
  const Device<std::uint16_t> weight(numbers.halves(Type::bf16, width)), all(rows * width),
      again(rows * width), one(width);
  const Device<float> residual(x);
  gpu::AddNorm op;
  op.rows = rows;
  op.hidden = width;
  op.residual = residual.get();
  op.weight = weight.get();
  op.out = all.get();
  gpu::add_norm(op, nullptr);
  op.out = again.get();
  gpu::add_norm(op, nullptr);
  op.rows = 1;
  op.residual = residual.get() + 17 * width;
  op.out = one.get();
  gpu::add_norm(op, nullptr);
  const Halves found = all.host();
  CHECK(found == again.host());
  CHECK(one.host() == Halves(found.begin() + 17 * width, found.begin() + 18 * width));
}

TEST_CASE("gated SiLU and ReLU are those of the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int tokens : kTokenCounts)
      for (const int width : {8, 688, 2056}) {
        INFO(name(type) << ", " << tokens << " tokens, width " << width);
        Numbers numbers(13);
        const Halves in = numbers.halves(type, tokens * 2 * width),
                     bias = numbers.halves(type, width);
        const Device<std::uint16_t> gate_up(in), d_bias(bias),
            out(static_cast<std::size_t>(tokens * width));
        gpu::swiglu({type, tokens, width, gate_up.get(), out.get()}, nullptr);
        Floats expected(static_cast<std::size_t>(tokens * width));
        reference::swiglu(expected.data(), to_floats(type, in).data(), tokens, width);
        check_rows(to_floats(type, out.host()), expected, width, rounding(type));

        gpu::bias_relu({type, tokens, width, gate_up.get(), d_bias.get()}, nullptr);
        Floats x = to_floats(type, in);
        x.resize(static_cast<std::size_t>(tokens * width));
        reference::add_bias(x.data(), to_floats(type, bias).data(), tokens, width);
        reference::relu(x.data(), tokens * width);
        Floats found = to_floats(type, gate_up.host());
        CHECK(Floats(found.begin() + tokens * width, found.end()) ==
              Floats(to_floats(type, Halves(in.begin() + tokens * width, in.end()))));
        found.resize(x.size());
        check_rows(found, x, width, rounding(type));
      }
}

TEST_CASE("ReLU lets a NaN through", "[gpu]") {
  NEEDS_DEVICE;
  const Device<std::uint16_t> x(Halves(8, 0x7e00));
  gpu::bias_relu({Type::f16, 1, 8, x.get(), nullptr}, nullptr);
  CHECK(std::isnan(to_floats(Type::f16, x.host())[3]));
}

TEST_CASE("the greedy token is the lowest index of the largest logit", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : {Type::f32, Type::bf16, Type::f16})
    for (const int vocab : {1, 7, 8, 1023, 8192, 8193, 50272, 128256}) {
      INFO("type " << static_cast<int>(type) << ", vocab " << vocab);
      const int rows = vocab > 10000 ? 3 : 17;
      Numbers numbers(19);
      Floats logits = numbers.many(rows * vocab);
      if (type != Type::f32) logits = to_floats(type, to_halves(type, logits));  // many ties
      Ints expected;
      for (int r = 0; r < rows; ++r)
        expected.push_back(reference::argmax(logits.data() + r * vocab, vocab));
      check_argmax(type, logits, rows, vocab, expected, Ints(expected.size(), 0));
    }
}

TEST_CASE("ties go to the lowest index, minus zero is zero, and all may be minus infinity",
          "[gpu]") {
  NEEDS_DEVICE;
  const int vocab = 20000;
  Floats logits(4 * vocab, -1.f);
  logits[5000] = logits[9000] = logits[19999] = 2.f;
  logits[vocab + 17] = -0.f;
  logits[vocab + 12345] = 0.f;
  for (int i = 0; i < vocab; ++i)
    logits[static_cast<std::size_t>(2 * vocab + i)] = -std::numeric_limits<float>::infinity();
  logits[3 * vocab + 19999] = std::numeric_limits<float>::infinity();
  check_argmax(Type::f32, logits, 4, vocab, {5000, 17, 0, 19999}, {0, 0, 0, 0});
}

TEST_CASE("a NaN is flagged and passed over", "[gpu]") {
  NEEDS_DEVICE;
  const int vocab = 9000;
  Numbers numbers(23);
  Floats logits = numbers.many(3 * vocab);
  logits[static_cast<std::size_t>(vocab + 8999)] = std::nanf("");
  logits[static_cast<std::size_t>(vocab + 100)] = 50.f;
  for (int i = 0; i < vocab; ++i) logits[static_cast<std::size_t>(2 * vocab + i)] = std::nanf("");
  const std::int32_t first = reference::argmax(logits.data(), vocab);
  check_argmax(Type::f32, logits, 3, vocab, {first, 100, 0}, {0, 1, 1});
}

TEST_CASE("random weights on the device are those of the host", "[gpu]") {
  NEEDS_DEVICE;
  for (const std::int64_t count : {1, 255, 256, 257, 100003}) {
    Floats expected;
    for (std::int64_t i = 0; i < count; ++i)
      expected.push_back(kernels::random_weight(42, 7, static_cast<std::uint64_t>(i), 0.05f));
    gpu::FillRandom op;
    op.elements = count;
    op.seed = 42;
    op.parameter = 7;
    op.amplitude = 0.05f;
    for (const Type type : kHalfTypes) {
      const Device<std::uint16_t> out(expected.size());
      op.type = type;
      op.out = out.get();
      gpu::fill_random(op, nullptr);
      CHECK(out.host() == to_halves(type, expected));
    }
    const Device<float> out(expected.size());
    op.type = Type::f32;
    op.out = out.get();
    gpu::fill_random(op, nullptr);
    CHECK(out.host() == expected);
  }
}

TEST_CASE("a constant fills exactly the elements asked for", "[gpu]") {
  NEEDS_DEVICE;
  const Device<std::uint16_t> out(100);
  gpu::fill_constant(Type::bf16, out.get(), 99, 1.f, nullptr);
  Halves expected(99, 0x3f80);
  expected.push_back(0xffff);
  CHECK(out.host() == expected);
}

TEST_CASE("norms of unknown shapes and types are refused", "[gpu]") {
  NEEDS_DEVICE;
  gpu::AddNorm norm;
  norm.hidden = 12;
  CHECK_THROWS_WITH(gpu::add_norm(norm, nullptr),
                    Catch::Matchers::Contains("in [8, 32768]: found 12"));
  norm.hidden = 64;
  norm.rows = 1;
  norm.type = Type::f32;
  CHECK_THROWS_AS(gpu::add_norm(norm, nullptr), std::invalid_argument);
  check(cudaDeviceSynchronize());
}
