#pragma once
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/support/scheduler_world.hpp"

namespace support {

/// Small random numbers from one seed, the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Between `low` and `high`, both included.
  int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return between(1, n) == 1; }
  template <class T>
  T any(std::initializer_list<T> values) {
    return *(values.begin() + between(0, static_cast<int>(values.size()) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

struct FuzzTurn {
  Tokens fresh;  // new tokens of the prompt behind the previous turns
  Tokens outputs;
  int gap_steps = 0;  // from the end of the previous turn
  int priority = 0;
  int tool = -1;
  bool says_last = false;                         // the client announces that no turn follows
  std::optional<int> abort_after = std::nullopt;  // steps after its arrival
};

struct FuzzJob {
  int arrival_step = 0;
  std::vector<FuzzTurn> turns;
};

/// Jobs with turns that extend each other and share prefixes, over a pool that barely holds the
/// longest sequence.
struct FuzzCase {
  WorldConfig config;
  std::vector<FuzzJob> jobs;
};

/// Queue orders with the pins of a retention policy, or without.
enum class Retained { nothing, pins };

FuzzCase make_fuzz_case(std::uint64_t seed, std::initializer_list<const char*> orders,
                        Retained retained);

/// Makes the scheduler decide as vLLM 0.33.
void add_version(FuzzCase& fuzz, std::uint64_t seed);
/// Adds a host tier as vLLM 0.33 has it, and its scheduler.
void add_connector(FuzzCase& fuzz, std::uint64_t seed);
/// Adds a disk behind the host tier, from far too small to ample.
void add_disk(FuzzCase& fuzz, std::uint64_t seed);
/// Adds a host tier of any kind, from far too small to ample.
void add_tier(FuzzCase& fuzz, std::uint64_t seed);

/// Preempts by recompute, or by swapping, as a whole or block by block.
void add_preemption(FuzzCase& fuzz, std::uint64_t seed);
/// Keeps the KV of a gap, drops it or swaps it, whichever wastes least.
void add_gaps(FuzzCase& fuzz, std::uint64_t seed);
/// Schedules each step while the one before it is in flight, as V1 does.
void make_async(FuzzCase& fuzz);

/// Adds a host tier that finds KV by its hash, and what leaves it first.
void add_host_eviction(FuzzCase& fuzz, const std::string& rule, std::uint64_t seed);

/// Adds prefetching with a possibly wrong estimator, over an eager offload tier.
void add_prefetch(FuzzCase& fuzz, std::uint64_t seed);

/// Evicts the KV that is used last, by a forecast or by the truth.
void add_eviction(FuzzCase& fuzz, std::uint64_t seed);

/// Evicts by this rule, with random parameters.
void add_eviction_rule(FuzzCase& fuzz, const std::string& rule, std::uint64_t seed);

/// Holds programs back by any rule, over a pool of the true size or another one.
void add_admission(FuzzCase& fuzz, std::uint64_t seed);

/// Lets a plugin make decisions that are allowed and arbitrary, at random some of them or all.
void add_plugin(FuzzCase& fuzz, std::uint64_t seed);

std::string describe(const FuzzCase& fuzz);

}  // namespace support
