#include <cmath>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/policies/waste.hpp"

using namespace policy_test;
using namespace std::chrono_literals;
using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;
using policies::GapAction;
using policies::Interception;

namespace {

/// 7,000 tokens of context beside 200,000 others, at 25.8 us per token.
Interception published_example() {
  return {.context_tok = 7'000, .other_tok = 200'000, .chunk_tok = 8192, .reload = {0, 25.8e-6, 0}};
}

struct Infercept {
  explicit Infercept(double gap_s = -1, double swap_s_per_tok = 0)
      : policy(policies::make_retention(
            {.retention = "infercept",
             .estimator = {.name = "oracle",
                           .truth = [gap_s](engine::JobId,
                                            int) { return engine::from_seconds(gap_s); }},
             .reload = {0, 1e-4, 0},
             .swap_s_per_tok = swap_s_per_tok,
             .max_num_batched_tokens = 1000})) {}

  GapDecision finish(int tokens, const Turn& turn = {}) {
    engine::Request& request = requests.make(turn);
    request.spec.prompt = std::span(prompt).first(static_cast<std::size_t>(tokens));
    return policy->on_turn_finish(request, 10s);
  }

  std::unique_ptr<engine::RetentionPolicy> policy;
  Requests requests;
  std::vector<engine::TokenId> prompt = std::vector<engine::TokenId>(10'000);
};

}  // namespace

TEST_CASE("preserving wastes a turn's memory for as long as its tool runs", "[waste]") {
  CHECK(policies::waste_of_preserving(published_example(), 2.0) == Approx(14'000));
  CHECK(policies::waste_of_preserving(published_example(), 0) == 0);
}

TEST_CASE("chunk by chunk the turn's own memory grows with what is computed", "[waste]") {
  Interception turn{
      .context_tok = 2500, .other_tok = 100, .chunk_tok = 1000, .reload = {0, 1e-3, 0}};
  CHECK(policies::waste_of_discarding(turn) == Approx(1.0 * 1100 + 1.0 * 2100 + 0.5 * 2600));
  turn.chunk_tok = 2500;  // in one step
  CHECK(policies::waste_of_discarding(turn) == Approx(2.5 * 2600));
}

TEST_CASE("the smaller the chunks, the less of the turn's own memory is wasted", "[waste]") {
  support::Dice dice(11);
  for (int i = 0; i < support::scaled(500); ++i) {
    Interception turn{.context_tok = static_cast<double>(dice.between(1, 20'000)),
                      .other_tok = static_cast<double>(dice.between(0, 300'000)),
                      .chunk_tok = dice.between(64, 8192),
                      .reload = {0, 1e-5 * dice.between(1, 10), 1e-9 * dice.between(0, 5)}};
    const double chunked = policies::waste_of_discarding(turn);
    const double in_one_step =
        turn.reload.seconds(turn.context_tok) * (turn.context_tok + turn.other_tok);
    CHECK(chunked <= in_one_step * (1 + 1e-12));
    CHECK(chunked >= in_one_step / 2 * (1 - 1e-12));
    Interception finer = turn;
    finer.chunk_tok = std::max(1, turn.chunk_tok / 2);
    CHECK(policies::waste_of_discarding(finer) <= chunked * (1 + 1e-12));
  }
}

TEST_CASE("swapping wastes the memory of all requests for the length of two copies", "[waste]") {
  Interception turn = published_example();
  CHECK(std::isinf(policies::waste_of_swapping(turn)));
  turn.swap_s_per_tok = 5.2e-6;
  CHECK(policies::waste_of_swapping(turn) == Approx(2 * 7'000 * 5.2e-6 * 207'000));
}

TEST_CASE("the action that wastes least depends on the gap", "[waste]") {
  Interception turn = published_example();
  CHECK(least_waste(turn, 1.0) == GapAction::preserve);
  CHECK(least_waste(turn, 6.0) == GapAction::discard);
  turn.swap_s_per_tok = 5.2e-6;
  CHECK(least_waste(turn, 1.0) == GapAction::preserve);
  CHECK(least_waste(turn, 6.0) == GapAction::swap);
}

TEST_CASE("the break-even gap is where both waste the same", "[waste]") {
  const Interception turn = published_example();
  const double gap_s = policies::break_even_s(turn);
  CHECK(gap_s == Approx(0.1806 * 207'000 / 7'000));  // 5.3 s; utility alone would keep nothing
  CHECK(least_waste(turn, gap_s * 0.999) == GapAction::preserve);
  CHECK(least_waste(turn, gap_s * 1.001) == GapAction::discard);
  CHECK(policies::break_even_s({}) == 0);
}

TEST_CASE("keeping until break-even wastes at most twice the least possible", "[waste]") {
  support::Dice dice(5);
  for (int i = 0; i < support::scaled(500); ++i) {
    const Interception turn{.context_tok = static_cast<double>(dice.between(1, 20'000)),
                            .other_tok = static_cast<double>(dice.between(0, 300'000)),
                            .chunk_tok = 2048,
                            .reload = {0, 2.58e-5, 0}};
    const double gap_s = 0.01 * dice.between(1, 3000), ttl_s = policies::break_even_s(turn);
    const double discard = policies::waste_of_discarding(turn);
    const double best = std::min(policies::waste_of_preserving(turn, gap_s), discard);
    const double paid =
        policies::waste_of_preserving(turn, std::min(gap_s, ttl_s)) + (gap_s > ttl_s ? discard : 0);
    CHECK(paid <= 2 * best * (1 + 1e-9));
  }
}

TEST_CASE("a gap shorter than break-even is kept until break-even", "[infercept]") {
  const GapDecision decision = Infercept(0.1).finish(2'000);
  CHECK(decision.pin);
  CHECK(decision.reason == KvReason::rent);
  CHECK(decision.deadline == 10s + 150ms);  // (0.1 s x 1000 + 0.1 s x 2000) / 2000 tokens
}

TEST_CASE("a gap longer than break-even is given up at once", "[infercept]") {
  const GapDecision decision = Infercept(0.2).finish(2'000);
  CHECK_FALSE((decision.pin || decision.swap));
  CHECK(decision.reason == KvReason::waste);
}

TEST_CASE("a long gap is swapped where copies waste less than computing again", "[infercept]") {
  CHECK(Infercept(0.2, 1e-5).finish(2'000).swap);
  CHECK(Infercept(0.01, 1e-5).finish(2'000).pin);
  const GapDecision slow = Infercept(0.2, 1e-3).finish(2'000);
  CHECK_FALSE((slow.pin || slow.swap));
}

TEST_CASE("a gap of which nothing is known is kept until break-even", "[infercept]") {
  const GapDecision decision = Infercept().finish(2'000);
  CHECK(decision.pin);
  CHECK(decision.reason == KvReason::rent);
  CHECK(decision.deadline == 10s + 150ms);
}

TEST_CASE("a job's last turn is not kept", "[infercept]") {
  const GapDecision decision = Infercept(0.1).finish(2'000, {.last = true});
  CHECK_FALSE(decision.pin);
  CHECK(decision.reason == KvReason::last_turn);
}
