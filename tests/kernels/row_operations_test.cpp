#include <algorithm>
#include <cmath>

#include "kernels/reference/layers.hpp"
#include "tests/kernels/values.hpp"

using namespace kernels;
using namespace kernel_test;

namespace {

struct Shape {
  int rows, cols;
};
/// Rows and widths around the sizes at which loops are split.
const auto kShapes = {Shape{0, 8}, {1, 1}, {1, 7}, {2, 8}, {3, 9}, {7, 31}, {8, 33}, {9, 256}};

std::size_t at(int row, int cols, int col) { return size(row * cols + col); }

}  // namespace

TEST_CASE("RMSNorm divides by the root of the mean square", "[kernels]") {
  for (const auto& [rows, cols] : kShapes) {
    Values values(1);
    const Floats x = values.many(rows * cols), weight = values.many(cols);
    Floats out(x.size());
    Doubles expected;
    reference::rms_norm(out.data(), x.data(), weight.data(), rows, cols, 1e-5f);
    for (int r = 0; r < rows; ++r) {
      double mean = 0;
      for (int i = 0; i < cols; ++i) mean += std::pow(x[at(r, cols, i)], 2) / cols;
      for (int i = 0; i < cols; ++i)
        expected.push_back(x[at(r, cols, i)] / std::sqrt(mean + 1e-5) * weight[size(i)]);
    }
    check_close(out, expected);
  }
}

TEST_CASE("LayerNorm gives rows mean and deviation of its bias and weight", "[kernels]") {
  for (const auto& [rows, cols] : kShapes) {
    Values values(2);
    Floats x = values.many(rows * cols), out(x.size());
    for (float& each : x) each += 3;  // a mean that is large relative to the deviation
    const Floats weight = values.many(cols), bias = values.many(cols);
    Doubles expected;
    reference::layer_norm(out.data(), x.data(), weight.data(), bias.data(), rows, cols, 1e-5f);
    for (int r = 0; r < rows; ++r) {
      double mean = 0, variance = 0;
      for (int i = 0; i < cols; ++i) mean += x[at(r, cols, i)] / double(cols);
      for (int i = 0; i < cols; ++i) variance += std::pow(x[at(r, cols, i)] - mean, 2) / cols;
      for (int i = 0; i < cols; ++i)
        expected.push_back((x[at(r, cols, i)] - mean) / std::sqrt(variance + 1e-5) *
                               weight[size(i)] +
                           bias[size(i)]);
    }
    check_close(out, expected);
  }
}

TEST_CASE("a norm may overwrite its input", "[kernels]") {
  Values values(3);
  Floats x = values.many(3 * 9), rms(x), layer(x), out(x);
  const Floats weight = values.many(9), bias = values.many(9);
  reference::rms_norm(rms.data(), rms.data(), weight.data(), 3, 9, 0);
  reference::rms_norm(out.data(), x.data(), weight.data(), 3, 9, 0);
  CHECK(rms == out);
  reference::layer_norm(layer.data(), layer.data(), weight.data(), bias.data(), 3, 9, 0);
  reference::layer_norm(out.data(), x.data(), weight.data(), bias.data(), 3, 9, 0);
  CHECK(layer == out);
}

TEST_CASE("a linear layer is one inner product an element", "[kernels]") {
  for (const auto& [rows, inputs] : kShapes) {
    for (const int outputs : {1, 5, 16}) {
      Values values(4);
      const Floats x = values.many(rows * inputs), weight = values.many(outputs * inputs);
      Floats out(size(rows * outputs));
      Doubles expected;
      reference::linear(out.data(), x.data(), weight.data(), rows, outputs, inputs);
      for (int r = 0; r < rows; ++r) {
        for (int o = 0; o < outputs; ++o) {
          double sum = 0;
          for (int i = 0; i < inputs; ++i)
            sum += double(x[at(r, inputs, i)]) * weight[at(o, inputs, i)];
          expected.push_back(sum);
        }
      }
      check_close(out, expected);
    }
  }
}

TEST_CASE("a bias is added to every row, a residual to every element", "[kernels]") {
  Floats x{1, 2, 3, 4};
  const Floats bias{10, 20};
  reference::add_bias(x.data(), bias.data(), 2, 2);
  CHECK(x == Floats{11, 22, 13, 24});
  const Floats residual{1, 1, 2, 2};
  reference::add(x.data(), residual.data(), 4);
  CHECK(x == Floats{12, 23, 15, 26});
  reference::add_bias(x.data(), bias.data(), 0, 2);
  CHECK(x == Floats{12, 23, 15, 26});
}

TEST_CASE("SwiGLU multiplies the second half by the sigmoid-weighted first", "[kernels]") {
  for (const auto& [rows, width] : kShapes) {
    Values values(5);
    const Floats x = values.many(rows * 2 * width);
    Floats out(size(rows * width));
    Doubles expected;
    reference::swiglu(out.data(), x.data(), rows, width);
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < width; ++i) {
        const double gate = x[at(r, 2 * width, i)];
        expected.push_back(gate / (1 + std::exp(-gate)) * x[at(r, 2 * width, width + i)]);
      }
    }
    check_close(out, expected);
  }
}

TEST_CASE("SwiGLU of a large negative gate is zero, not NaN", "[kernels]") {
  const Floats x{-1000, 1000, 2, 2};
  Floats out(2);
  reference::swiglu(out.data(), x.data(), 1, 2);
  CHECK(out == Floats{0, 2000});
}

TEST_CASE("ReLU keeps what is positive, and NaN", "[kernels]") {
  Floats x{-1, 0, 2, std::nanf("")};
  reference::relu(x.data(), 4);
  CHECK(x[0] == 0);
  CHECK(x[2] == 2);
  CHECK(std::isnan(x[3]));
}

TEST_CASE("the embedding of a token is its row, plus the row of its position", "[kernels]") {
  const Floats table{0, 1, 10, 11, 20, 21};
  const Floats positions{9, 9, 9, 9, 100, 200, 300, 400};  // two rows ahead of position 0
  const Ints tokens{2, 0}, at_position{1, 0};
  Floats x(4);
  reference::embed(x.data(), table.data(), tokens.data(), 2, 2);
  CHECK(x == Floats{20, 21, 0, 1});
  reference::add_learned_positions(x.data(), positions.data(), at_position.data(), 2, 2);
  CHECK(x == Floats{320, 421, 100, 201});
}

TEST_CASE("rotary positions turn each pair by position times frequency", "[kernels]") {
  const int heads = 3, pairs = 4, head_dim = 8, stride = heads * head_dim + 5;
  const Ints positions{0, 1, 77, 4000};
  const Floats frequency{1, 0.3f, 0.01f, 0.0001f};
  const float scale = 1.25f;
  const auto tokens = static_cast<int>(positions.size());
  Values values(6);
  const Floats before = values.many(tokens * stride);
  Floats x = before, cosines(size(tokens * pairs)), sines(cosines);
  reference::rope_angles(cosines.data(), sines.data(), positions.data(), tokens, frequency.data(),
                         pairs, scale);
  reference::rope(x.data(), cosines.data(), sines.data(), tokens, stride, heads, head_dim);
  Doubles expected(before.begin(), before.end());
  for (int t = 0; t < tokens; ++t) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < pairs; ++i) {
        const std::size_t a = at(t, stride, h * head_dim + i), b = a + size(pairs);
        const double angle = double(positions[size(t)]) * frequency[size(i)];
        expected[a] = scale * (before[a] * std::cos(angle) - before[b] * std::sin(angle));
        expected[b] = scale * (before[b] * std::cos(angle) + before[a] * std::sin(angle));
      }
    }
  }
  // An angle of thousands already has an error of 2^-13.
  check_close(x, expected, 1e-3);
  CHECK(std::equal(x.begin() + heads * head_dim, x.begin() + stride,
                   before.begin() + heads * head_dim));
}

TEST_CASE("the greatest element is found, the lowest of equals", "[kernels]") {
  const auto argmax = [](const Floats& x) {
    return reference::argmax(x.data(), static_cast<int>(x.size()));
  };
  CHECK(argmax({-3}) == 0);
  CHECK(argmax({-3, -1, -2}) == 1);
  CHECK(argmax({1, 5, 2, 5, 5}) == 1);
  CHECK(argmax({0.f, -0.f}) == 0);
  CHECK(argmax({-INFINITY, -INFINITY}) == 0);
}
