#include "workers/backends/cpu/gemm.hpp"

#include <cstring>

#include "kernels/reference/layers.hpp"
#include "tests/kernels/values.hpp"

using backends::RowInvariantGemm;
using kernel_test::Floats;
using kernel_test::Values;

namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

Floats product(const Floats& x, const Floats& weight, int rows, int outputs, int inputs) {
  Floats out(size(rows * outputs));
  RowInvariantGemm().run(out.data(), x.data(), weight.data(), rows, outputs, inputs);
  return out;
}

}  // namespace

TEST_CASE("products agree with the reference for any number of rows", "[gemm]") {
  for (const int rows : {0, 1, 7, 8, 9, 17}) {
    for (const auto& [outputs, inputs] : {std::pair{1, 1}, {5, 7}, {64, 33}, {513, 257}}) {
      Values values(1);
      const Floats x = values.many(rows * inputs), weight = values.many(outputs * inputs);
      Floats expected(size(rows * outputs));
      kernels::reference::linear(expected.data(), x.data(), weight.data(), rows, outputs, inputs);
      kernel_test::check_close(product(x, weight, rows, outputs, inputs),
                               {expected.begin(), expected.end()}, 1e-5 * inputs);
    }
  }
}

TEST_CASE("a row's product has the same bits alone, in any place and among any others", "[gemm]") {
  for (const auto& [outputs, inputs] :
       {std::pair{3, 5}, {512, 256}, {1376, 256}, {256, 688}, {1024, 256}, {100, 1000}}) {
    Values values(2);
    const int rows = 19;
    const Floats x = values.many(rows * inputs), weight = values.many(outputs * inputs);
    REQUIRE_NOTHROW(RowInvariantGemm().check(weight.data(), outputs, inputs));
    const Floats together = product(x, weight, rows, outputs, inputs);
    for (int row = 0; row < rows; ++row) {
      const Floats one(x.begin() + row * inputs, x.begin() + (row + 1) * inputs);
      const Floats alone = product(one, weight, 1, outputs, inputs);
      REQUIRE(std::memcmp(alone.data(), together.data() + row * outputs,
                          alone.size() * sizeof(float)) == 0);
    }
  }
}
