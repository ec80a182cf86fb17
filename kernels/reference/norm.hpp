#pragma once

namespace kernels::reference {

/// out = x / sqrt(mean(x^2) + eps) * weight, row by row (Zhang and Sennrich 2019).
///   out, x  [rows][cols]; may alias
///   weight  [cols]
/// The mean is summed in float64, from the first element to the last.
void rms_norm(float* out, const float* x, const float* weight, int rows, int cols, float eps);

/// out = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, row by row (Ba et al. 2016), with
/// the variance of the row itself instead of an estimate from it.
///   out, x        [rows][cols]; may alias
///   weight, bias  [cols]
void layer_norm(float* out, const float* x, const float* weight, const float* bias, int rows,
                int cols, float eps);

}  // namespace kernels::reference
