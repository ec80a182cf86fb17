#pragma once
#include "kernels/device/types.hpp"

namespace kernels::gpu {

/// What host and device exchange while both clocks are read: page-locked memory that both see.
struct ClockExchange {
  static constexpr int kRounds = 16;
  volatile std::int32_t asked = 0;             // rounds that the host has begun
  volatile std::int32_t answered = 0;          // and the device has answered
  volatile std::uint64_t times[kRounds] = {};  // %globaltimer of each answer, ns
};

/// Answers each round with the device's time. Gives up after a second without a question, so that
/// it ends whatever becomes of the host.
void read_clock(ClockExchange* exchange, cudaStream_t stream);

}  // namespace kernels::gpu
