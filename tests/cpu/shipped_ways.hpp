#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/cpu/served_jobs.hpp"

/// Every shipped policy in all variants, with few blocks on either side.
namespace cpu_test {

/// A shipped policy, and the settings that it leaves open.
struct Way {
  std::string policy, preemption = "as shipped", scheduler = "v1", store = "eager",
                      eviction = "lru", host_eviction = "lru";
  std::string text() const {
    return policy + ", preemption " + preemption + ", " + scheduler + ", " + store +
           (eviction == "lru" ? "" : ", " + eviction) +
           (host_eviction == "lru" ? "" : ", host " + host_eviction);
  }
};

std::vector<std::string> shipped_policies();
std::vector<Way> all_ways();

/// One way for each kind of host tier.
std::vector<Way> ways_of_tiers();

/// One way for each rule of what leaves the GPU first, and what leaves host memory first.
std::vector<Way> ways_of_evictions();

/// A backend, and the block sizes that it supports.
struct Target {
  std::string backend;
  std::vector<int> block_sizes;
};

/// A cell of a shipped policy with debug checks and few blocks on either side. Of the policy's own
/// keys only the preemption may differ from the shipped ones. Empty when the settings contradict
/// each other, or when the way equals another one.
std::optional<Serving> serving_of(const Way& way, const Target& target, support::Dice& dice);

/// "no tier", "swap pinned", "offload lazy" ...
std::string kind_of(const Serving& serving);

/// Jobs on one backend, and the correct result there: each job served alone in one pass, without a
/// tier.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual int vocab() const = 0;
  virtual void renew_jobs(std::vector<Job> jobs) = 0;
  /// Throws std::logic_error with the first difference from the correct result.
  virtual Served serve(const Serving& serving) = 0;
};

/// Blocks requested in some servings.
struct Moved {
  int ways = 0, preempted = 0, out = 0, in = 0, ahead = 0;
  void add(const Served& served);
  Moved& operator+=(const Moved& other);
};
std::string describe(const std::string& kind, const Moved& moved);

/// Serves random jobs in one way after another.
class Tour {
 public:
  Tour(Bench& bench, Target target, std::uint64_t seed)
      : bench_(bench), target_(std::move(target)), dice_(seed) {}
  /// False when there is nothing to serve. Throws std::logic_error with the first difference.
  bool serve(const Way& way);
  /// Serves a policy as shipped, and in `others` other ways.
  void serve_some(const std::string& policy, int others);

  const std::map<std::string, Moved>& moved() const { return moved_; }  // by kind of tier

 private:
  Bench& bench_;
  Target target_;
  support::Dice dice_;
  int served_ = 0;
  std::map<std::string, Moved> moved_;
};

/// Serves random jobs with the plugin in `object` deciding on one axis after the other. Returns by
/// axis how often it was asked. Throws as the bench does.
std::map<std::string, std::int64_t> serve_with_plugin(Bench& bench, const Target& target,
                                                      const std::string& object, int seeds);

/// Outcomes of servings with faulty copies.
struct Outcomes {
  int harmless = 0;
  int noticed = 0;  // detected by the checks of backend and copier
  int wrong = 0;    // results that differ from those without a tier
};
/// Serves random jobs in one way, with this fault in every other batch of copies, until it has
/// caused damage a few times.
Outcomes serve_with_faults(Bench& bench, const Way& way, const Target& target,
                           backends::CopyFault fault, backends::Checks checks);

}  // namespace cpu_test
