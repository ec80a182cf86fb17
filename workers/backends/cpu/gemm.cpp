#include "workers/backends/cpu/gemm.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "kernels/random_weight.hpp"
#include "workers/backends/cpu/blas.hpp"

namespace backends {
namespace {

void multiply_tile(float* out, const float* x, const float* weight, int outputs, int inputs) {
  blas().sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, RowInvariantGemm::kRows, outputs, inputs, 1,
               x, inputs, weight, inputs, 0, out, outputs);
}

std::size_t tile_size(int cols) {
  return static_cast<std::size_t>(RowInvariantGemm::kRows) * static_cast<std::size_t>(cols);
}

/// Fills row `row` of the tile with a pseudo-random vector that depends on `number` alone.
void fill_row(std::vector<float>& tile, int row, int cols, std::uint32_t number) {
  float* const at = tile.data() + std::int64_t{row} * cols;
  for (int i = 0; i < cols; ++i)
    at[i] = kernels::random_weight(1, number, static_cast<std::uint64_t>(i), 1);
}

}  // namespace

RowInvariantGemm::RowInvariantGemm() { blas(); }

void RowInvariantGemm::run(float* out, const float* x, const float* weight, int rows, int outputs,
                           int inputs) {
  int row = 0;
  for (; row + kRows <= rows; row += kRows)
    multiply_tile(out + std::int64_t{row} * outputs, x + std::int64_t{row} * inputs, weight,
                  outputs, inputs);
  if (row == rows) return;
  const auto left = static_cast<std::int64_t>(rows - row);
  x_tile_.assign(tile_size(inputs), 0.f);
  out_tile_.resize(tile_size(outputs));
  std::copy_n(x + std::int64_t{row} * inputs, left * inputs, x_tile_.begin());
  multiply_tile(out_tile_.data(), x_tile_.data(), weight, outputs, inputs);
  std::copy_n(out_tile_.begin(), left * outputs, out + std::int64_t{row} * outputs);
}

void RowInvariantGemm::check(const float* weight, int outputs, int inputs) {
  std::vector<float> x(tile_size(inputs)), equal(tile_size(outputs)), mixed(tile_size(outputs));
  for (int row = 0; row < kRows; ++row) fill_row(x, row, inputs, 0);
  multiply_tile(equal.data(), x.data(), weight, outputs, inputs);
  for (int row = 0; row < kRows; ++row) {
    for (int other = 0; other < kRows; ++other)
      fill_row(x, other, inputs, other == row ? 0 : static_cast<std::uint32_t>(other) + 1);
    multiply_tile(mixed.data(), x.data(), weight, outputs, inputs);
    const float* const in_equal = equal.data() + std::int64_t{row} * outputs;
    const float* const in_mixed = mixed.data() + std::int64_t{row} * outputs;
    const auto bytes = static_cast<std::size_t>(outputs) * sizeof(float);
    if (std::memcmp(in_equal, equal.data(), bytes) == 0 &&
        std::memcmp(in_mixed, equal.data(), bytes) == 0)
      continue;
    throw std::runtime_error(std::string("sgemm of ") + blas().config() +
                             " gives a row another result in place " + std::to_string(row) +
                             " of " + std::to_string(kRows) + " than in place 0, for a weight of " +
                             std::to_string(outputs) + " x " + std::to_string(inputs) +
                             ": results would depend on what else is in the batch");
  }
}

}  // namespace backends
