#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/request.hpp"

using engine::Request;
using support::Tokens;

namespace {

struct Generation {
  Generation() {
    request.spec.prompt = prompt;
    request.spec.max_tokens = 100;
  }
  bool append(engine::TokenId token) { return append_output(request, token, max_model_len, 16); }

  Tokens prompt = support::tokens(10, 1);
  Request request;
  int max_model_len = 1000;
};

}  // namespace

TEST_CASE("max_tokens caps the length", "[stop_rule]") {
  Generation g;
  g.request.spec.max_tokens = 2;
  CHECK_FALSE(g.append(10));
  CHECK(g.append(11));
  CHECK(g.request.outputs == Tokens{10, 11});
}

TEST_CASE("the longest sequence of the model caps the length", "[stop]") {
  Generation g;
  g.max_model_len = 12;
  CHECK_FALSE(g.append(10));
  CHECK(g.append(11));
  CHECK(g.request.num_tokens() == 12);
}

TEST_CASE("appended tokens extend the request's own hash chain", "[stop]") {
  Generation g;
  for (const auto token : support::tokens(25, 2)) g.append(token);
  const auto all = support::operator+(g.prompt, support::tokens(25, 2));
  CHECK(g.request.own_hashes == engine::hash_blocks(all, 16));
  CHECK(g.request.own_hashes.size() == 2);
}
