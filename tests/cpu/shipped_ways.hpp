#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tests/cpu/served_jobs.hpp"

/// Every policy that sweeps may name, with all that it leaves open, over few blocks on either side.
namespace cpu_test {

/// A shipped policy, and what it leaves open.
struct Way {
  std::string policy, preemption = "as shipped", scheduler = "v1", store = "eager";
  std::string text() const {
    return policy + ", preemption " + preemption + ", " + scheduler + ", " + store;
  }
};

std::vector<std::string> shipped_policies();
std::vector<Way> all_ways();

/// One way for each kind of host tier.
std::vector<Way> ways_of_tiers();

/// What serves, and the block sizes that it knows.
struct Target {
  std::string backend;
  std::vector<int> block_sizes;
};

/// A cell of a shipped policy with debug checks and few blocks on either side; of the policy's own
/// keys only the preemption may differ from what is shipped. Nothing where the way contradicts
/// itself, or is another one under a second name.
std::optional<Serving> serving_of(const Way& way, const Target& target, support::Dice& dice);

/// "no tier", "swap pinned", "offload lazy" ...
std::string kind_of(const Serving& serving);

/// Jobs on one backend, and what is right there: each of them served alone in one pass, without a
/// tier.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual int vocab() const = 0;
  virtual void renew_jobs(std::vector<Job> jobs) = 0;
  /// Throws std::logic_error with the first difference from what is right.
  virtual Served serve(const Serving& serving) = 0;
};

/// Blocks that were asked for in some servings.
struct Moved {
  int ways = 0, preempted = 0, out = 0, in = 0, ahead = 0;
  void add(const Served& served);
  Moved& operator+=(const Moved& other);
};
std::string describe(const std::string& kind, const Moved& moved);

/// Serves random jobs in one way after the other.
class Tour {
 public:
  Tour(Bench& bench, Target target, std::uint64_t seed)
      : bench_(bench), target_(std::move(target)), dice_(seed) {}
  /// False where there is nothing to serve. Throws std::logic_error with the first difference.
  bool serve(const Way& way);
  /// A policy as shipped, and in so many other ways.
  void serve_some(const std::string& policy, int others);

  const std::map<std::string, Moved>& moved() const { return moved_; }  // by kind of tier

 private:
  Bench& bench_;
  Target target_;
  support::Dice dice_;
  int served_ = 0;
  std::map<std::string, Moved> moved_;
};

/// How servings end whose copies go wrong.
struct Outcomes {
  int harmless = 0;
  int noticed = 0;  // by the checks of backend and copier
  int wrong = 0;    // results are not what they are without a tier
};
/// Serves random jobs in one way, with this fault in every other batch of copies, until it has done
/// harm a few times.
Outcomes serve_with_faults(Bench& bench, const Way& way, const Target& target,
                           backends::CopyFault fault, backends::Checks checks);

}  // namespace cpu_test
