#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/request.hpp"

using engine::FinishReason;
using engine::Request;
using support::Tokens;

namespace {

constexpr engine::TokenId kEos = 2;

/// A request that stops at kEos unless told otherwise.
struct Generation {
  Generation() {
    request.spec.prompt = prompt;
    request.spec.stop = {.max_tokens = 100, .ignore_eos = false, .eos = kEos, .stop_tokens = {}};
  }
  FinishReason append(const Tokens& sampled) {
    return append_outputs(request, sampled, max_model_len, 16);
  }

  Tokens prompt = support::tokens(10, 1);
  Request request;
  int max_model_len = 1000;
};

}  // namespace

TEST_CASE("the end-of-sequence token stops generation and is kept", "[S9]") {
  Generation g;
  CHECK(g.append({kEos}) == FinishReason::stop);
  CHECK(g.request.outputs == Tokens{kEos});
}

TEST_CASE("a stop token ends generation and what was sampled after it is dropped", "[S9]") {
  Generation g;
  const Tokens stops{42, 43};
  g.request.spec.stop.stop_tokens = stops;
  CHECK(g.append({10, 42, 12}) == FinishReason::stop);
  CHECK(g.request.outputs == Tokens{10, 42});
}

TEST_CASE("max_tokens caps the length", "[S9]") {
  Generation g;
  g.request.spec.stop.max_tokens = 2;
  CHECK(g.append({10, 11, 12}) == FinishReason::length);
  CHECK(g.request.outputs == Tokens{10, 11});
}

TEST_CASE("with ignore_eos the end-of-sequence token is one like any other", "[S9]") {
  Generation g;
  g.request.spec.stop.ignore_eos = true;
  CHECK(g.append({kEos, 10, 11}) == FinishReason::none);
  CHECK(g.request.outputs == Tokens{kEos, 10, 11});
}

TEST_CASE("nothing stops generation before min_tokens", "[S9]") {
  Generation g;
  const Tokens stops{42};
  g.request.spec.stop.stop_tokens = stops;
  g.request.spec.stop.min_tokens = 5;
  CHECK(g.append({10, 11, kEos}) == FinishReason::none);
  CHECK(g.append({42}) == FinishReason::none);
  CHECK(g.append({kEos}) == FinishReason::stop);
}

TEST_CASE("a stop token after min_tokens ends generation", "[S9]") {
  Generation g;
  const Tokens stops{42};
  g.request.spec.stop.stop_tokens = stops;
  g.request.spec.stop.min_tokens = 5;
  CHECK(g.append({10, 11, 12, 13, 14, 42}) == FinishReason::stop);
  CHECK(g.request.num_outputs() == 6);
}

TEST_CASE("min_tokens shields from the length limits as well", "[S9]") {
  Generation g;
  g.max_model_len = 12;
  g.request.spec.stop.min_tokens = 3;
  CHECK(g.append({10, 11}) == FinishReason::none);
  CHECK(g.append({12}) == FinishReason::length);
}

TEST_CASE("the longest sequence of the model caps the length", "[stop]") {
  Generation g;
  g.max_model_len = 12;
  CHECK(g.append({10}) == FinishReason::none);
  CHECK(g.append({11, 12}) == FinishReason::length);
  CHECK(g.request.num_tokens() == 12);
}

TEST_CASE("a token that both stops and reaches the limit counts as a stop", "[stop]") {
  Generation g;
  g.request.spec.stop.max_tokens = 1;
  CHECK(g.append({kEos}) == FinishReason::stop);
}

TEST_CASE("appended tokens extend the request's own hash chain", "[stop]") {
  Generation g;
  g.append(support::tokens(25, 2));
  const auto all = support::operator+(g.prompt, support::tokens(25, 2));
  CHECK(g.request.own_hashes == engine::hash_blocks(all, 16));
  CHECK(g.request.own_hashes.size() == 2);
}
