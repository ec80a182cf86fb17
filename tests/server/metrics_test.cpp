// What a server's metrics say, held against the load.
#include "workers/cell/server_metrics.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using server::ServerSample;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Metrics under a load of 1,000 tokens, from a server that has counted 50 of everything.
worker::ServerMetrics loaded() {
  worker::ServerMetrics metrics(
      {.preemptions = 50, .cached_tokens = 50, .host_tokens = 50, .forwards = 50});
  metrics.add_load(1000);
  return metrics;
}

}  // namespace

TEST_CASE("counters are told since the sample before the load, also those that begin with it") {
  auto metrics = loaded();
  const auto row =
      metrics.row({.kv_used = 0.25, .running = 3, .preemptions = 52, .forwards = 1050});
  CHECK(row.kv_used_pct == 25);
  CHECK(row.n_running == 3);
  CHECK(row.preemptions == 2);
  CHECK(metrics.forwards() == 1000);
  CHECK(std::isnan(row.cached_tok));  // the server does not say
  CHECK(metrics.left_out().empty());
  worker::ServerMetrics first({});
  first.add_load(10);
  CHECK(first.row({.preemptions = 4}).preemptions == 4);
}

TEST_CASE("what the load cannot have caused is not observed, and named") {
  for (const double wrong : {49.0, -7.0, 1051.0, 1e30, kInfinity, -kInfinity}) {
    INFO(wrong);
    auto metrics = loaded();
    CHECK(std::isnan(metrics.row({.preemptions = wrong}).preemptions));
    CHECK_THAT(metrics.left_out(),
               Contains("left out, since 1000 tokens of load cannot cause it: preemptions "));
    metrics.row({.forwards = wrong});
    CHECK(std::isnan(metrics.forwards()));
    CHECK_THAT(metrics.left_out(), Contains("forwards "));
    CHECK(std::isnan(metrics.row({.cached_tokens = wrong}).cached_tok));
    CHECK(std::isnan(metrics.row({.host_tokens = wrong}).host_cached_tok));
  }
  for (const double wrong : {35.0, -1.0, kInfinity})
    CHECK(std::isnan(loaded().row({.kv_used = wrong}).kv_used_pct));
  for (const double wrong : {-4.0, 1e12, kInfinity}) {
    CHECK(std::isnan(loaded().row({.running = wrong}).n_running));
    CHECK(std::isnan(loaded().row({.waiting = wrong}).n_waiting));
  }
}

TEST_CASE("a counter that goes back is left out from then on") {
  auto metrics = loaded();
  CHECK(metrics.row({.forwards = 60}).t_s == 0);
  metrics.row({.forwards = 55});
  metrics.row({.forwards = 70});
  CHECK(std::isnan(metrics.forwards()));
}

TEST_CASE("a preempted request finds cached tokens again") {
  auto metrics = loaded();
  CHECK(metrics.row({.preemptions = 52, .cached_tokens = 2050}).cached_tok == 2000);
  CHECK(std::isnan(loaded().row({.cached_tokens = 2050}).cached_tok));
}
