// KV that is stored to host memory and restored changes no result.
#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"
#include "workers/backends/errors.hpp"

using namespace cpu_test;
using backends::CopyFault;
using engine::KvEventKind;
using engine::KvReason;
using engine::StoreMode;
using engine::TierKind;
using support::Dice;

namespace {

/// Jobs, a serving with a host tier and debug checks, and the correct result.
struct TierCase {
  explicit TierCase(std::uint64_t seed) : dice(seed) {
    static const auto opt = random_model(small_model(model::Architecture::opt));
    weights = seed % 3 == 0 ? &opt : &small_llama();
    const auto kv_type =
        dice.any({model::DType::f32, model::DType::bf16, model::DType::f16, model::DType::e4m3});
    jobs = random_jobs(dice, weights->shape().vocab, kMaxModelLen);
    plain = cpu_test::serve(*weights, jobs, plain_serving(kMaxModelLen, kv_type));
    renew(kv_type);
  }
  void renew(model::DType kv_type) {
    serving = random_serving(dice, kv_type);
    serving.checks = backends::Checks::debug;
    add_random_tier(dice, serving);
  }
  Served serve() const { return cpu_test::serve(*weights, jobs, serving); }

  Dice dice;
  const backends::CpuWeights* weights;
  std::vector<Job> jobs;
  Served plain;
  Serving serving;
};

/// Blocks that a kind of tier stored and loaded.
struct TierMoves {
  int stored = 0, loaded = 0;
};
std::string name_of(const Serving& serving) {
  const engine::TierConfig& tier = serving.engine.tier;
  const std::string ahead = serving.engine.async_scheduling ? "asynchronous " : "";
  if (serving.policy.prefetch != "none") return ahead + "prefetch";
  if (tier.kind == TierKind::offload)
    return ahead + (tier.store_mode == StoreMode::lazy ? "offload lazy" : "offload");
  return ahead + (tier.kind == TierKind::lmcache ? "lmcache" : "swap");
}
void count(std::map<std::string, TierMoves>& all, const Serving& serving, const Served& served) {
  TierMoves& moved = all[name_of(serving)];
  for (const auto& [event, blocks] : served.copied) {
    const bool out = event.first == KvEventKind::store || event.first == KvEventKind::swap_out;
    moved.stored += out ? blocks : 0;
    // With prefetching, only prefetches count.
    const bool ahead = serving.policy.prefetch != "none";
    const auto asked = ahead ? std::pair(KvEventKind::prefetch, KvReason::deadline)
                             : std::pair(KvEventKind::load, KvReason::demand);
    moved.loaded += event == asked || event.first == KvEventKind::swap_in ? blocks : 0;
  }
}

}  // namespace

TEST_CASE("tokens and logits have the same bits with any host tier as without", "[tier]") {
  std::map<std::string, TierMoves> all;
  support::for_each_seed(150, [&](std::uint64_t seed) {
    TierCase tested(seed);
    for (int variant = 0; variant < 4; ++variant) {
      const Served served = tested.serve();
      const std::string found = difference(served, tested.plain);
      if (!found.empty()) throw std::logic_error(found + " with " + describe(tested.serving));
      count(all, tested.serving, served);
      tested.renew(tested.serving.kv_type);
    }
  });
  CHECK(all.size() == 10);
  for (const auto& [name, moved] : all) {
    std::cout << name << ": " << moved.stored << " blocks stored, " << moved.loaded << " loaded\n";
    CHECK(moved.stored > 0);
    CHECK(moved.loaded > 0);
  }
}

namespace {

struct TierOutcomes {
  int harmless = 0;
  int noticed = 0;  // detected by the checks of backend and copier
  int wrong = 0;    // logits or tokens that differ from those without a tier
};

void play(TierCase& tested, TierOutcomes& outcomes) {
  try {
    const bool right = difference(tested.serve(), tested.plain).empty();
    ++(right ? outcomes.harmless : outcomes.wrong);
  } catch (const backends::CorruptBlock&) {
    ++outcomes.noticed;
  } catch (const backends::NotFinite&) {
    ++outcomes.noticed;
  } catch (const std::logic_error&) {  // a position has two different logits
    ++outcomes.wrong;
  }
}

/// Injects the fault into one copy of three.
TierOutcomes with_copies_that(CopyFault fault, backends::Checks checks) {
  TierOutcomes outcomes;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    TierCase tested(seed);
    tested.serving.checks = checks;
    tested.serving.copy_fault = [=](engine::CopyId id) {
      return (static_cast<std::uint64_t>(id) + seed) % 3 == 0 ? fault : CopyFault::none;
    };
    play(tested, outcomes);
  }
  std::cout << outcomes.harmless << " harmless, " << outcomes.noticed << " noticed, "
            << outcomes.wrong << " wrong\n";
  return outcomes;
}

}  // namespace

TEST_CASE("blocks that are not copied change results without the checks, and none with them",
          "[tier][debug]") {
  CHECK(with_copies_that(CopyFault::skip, backends::Checks::off).wrong > 0);
  const TierOutcomes checked = with_copies_that(CopyFault::skip, backends::Checks::debug);
  CHECK(checked.noticed > 0);
  CHECK(checked.wrong == 0);
}

TEST_CASE(
    "copies reported before they happen change results without the checks, and none with them",
    "[tier][debug]") {
  CHECK(with_copies_that(CopyFault::complete_early, backends::Checks::off).wrong > 0);
  const TierOutcomes checked = with_copies_that(CopyFault::complete_early, backends::Checks::debug);
  CHECK(checked.noticed > 0);
  CHECK(checked.wrong == 0);
}
