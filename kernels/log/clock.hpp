#pragma once
#include "kernels/device/types.hpp"

namespace kernels::gpu {

/// Page-locked memory through which host and device read both clocks together.
struct ClockExchange {
  static constexpr int kRounds = 16;
  volatile std::int32_t asked = 0;             // rounds that the host has started
  volatile std::int32_t answered = 0;          // rounds that the device has answered
  volatile std::uint64_t times[kRounds] = {};  // %globaltimer of each answer, ns
};

/// Answers each round with the device's time. Ends after a second without a question, so that it
/// ends even if the host fails.
void read_clock(ClockExchange* exchange, cudaStream_t stream);

}  // namespace kernels::gpu
