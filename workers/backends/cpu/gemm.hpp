#pragma once
#include <vector>

namespace backends {

/// out = x * weight^T through BLAS. A row of the result depends on that row of x alone, bit by bit.
///
/// BLAS selects its code by the number of rows, and codes differ in the order of their additions.
/// So it is only called on tiles of kRows rows, the last one padded with zeros.
class RowInvariantGemm {
 public:
  static constexpr int kRows = 8;

  /// Loads BLAS. Throws std::runtime_error if there is none.
  RowInvariantGemm();

  ///   out     [rows][outputs]
  ///   x       [rows][inputs]
  ///   weight  [outputs][inputs]
  void run(float* out, const float* x, const float* weight, int rows, int outputs, int inputs);

  /// Checks that promise on one weight [outputs][inputs]: equal rows must give equal results
  /// anywhere in a tile, beside any rows. Throws std::runtime_error naming the BLAS and the shape.
  void check(const float* weight, int outputs, int inputs);

 private:
  std::vector<float> x_tile_, out_tile_;
};

}  // namespace backends
