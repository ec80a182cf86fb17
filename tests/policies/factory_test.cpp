#include "workers/policies/factory.hpp"
#include "workers/policies/estimators/config.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

namespace {

std::string refusal(const policies::PolicyConfig& config) {
  try {
    policies::make_order(config);
    policies::make_retention(config);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

policies::EstimatorConfig well_informed(const std::string& name) {
  const auto second = [](engine::JobId, int) { return engine::from_seconds(1); };
  return {.name = name, .truth = second, .hints = second};
}

}  // namespace

TEST_CASE("everything that is named can be made", "[factory]") {
  CHECK(policies::order_names().size() >= 4);
  CHECK(policies::retention_names().size() >= 3);
  CHECK(policies::ttl_rule_names().size() >= 3);
  CHECK(policies::estimator_names().size() >= 5);
  policies::PolicyConfig given{.order = "plugin"};
  given.plugin = {.path = KVSWEEP_TEST_PLUGINS "/arbitrary.so", .num_blocks = 10};
  given = policies::with_plugin(given);
  for (const auto& name : policies::order_names()) {
    given.order = name;
    CHECK(policies::make_order(given));
  }
  for (const auto& name : policies::estimator_names()) {
    CHECK(make_estimator(well_informed(name)));
  }
  policies::PolicyConfig config = given;
  config.estimator = well_informed("oracle");
  config.reload = {0, 1e-5, 0};
  for (const auto& name : policies::retention_names()) {
    config.retention = name;
    CHECK(policies::make_retention(config));
  }
  config.retention = "pin";
  for (const auto& name : policies::ttl_rule_names()) {
    config.ttl_rule = name;
    CHECK(policies::make_ttl_rule(config));
  }
}

TEST_CASE("a plugin that was not loaded is an error where it would decide", "[factory]") {
  for (const policies::PolicyConfig& config :
       {policies::PolicyConfig{.order = "plugin"}, policies::PolicyConfig{.retention = "plugin"}})
    CHECK(refusal(config) == "\"plugin\" needs policy.plugin");
}

TEST_CASE("a parameter that a policy needs is required when it is made", "[factory]") {
  CHECK(refusal({.retention = "infercept"}).find("what a prefill costs") != std::string::npos);
  for (const std::string rule : {"utility", "ski_rental"}) {
    const std::string message = refusal({.retention = "pin", .ttl_rule = rule});
    CHECK(message.find('"' + rule + "\" needs to know what a prefill costs") != std::string::npos);
  }
  CHECK(refusal({.retention = "pin", .estimator = {.name = "oracle"}}).find("recorded gaps") !=
        std::string::npos);
  CHECK(refusal({.retention = "pin", .estimator = {.name = "client_hint"}}).find("give hints") !=
        std::string::npos);
}

TEST_CASE("by default requests are served as they come and nothing is kept", "[factory]") {
  const policies::PolicyConfig config;
  CHECK((config.order == "fcfs" && config.retention == "free"));
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("an unknown order is refused with what there is", "[factory]") {
  const std::string message = refusal({.order = "lifo"});
  for (const auto& name : policies::order_names())
    CHECK(message.find('"' + name + '"') != std::string::npos);
  CHECK(message.find("policy.order must be one of") == 0);
  CHECK(message.find("found \"lifo\"") != std::string::npos);
}

TEST_CASE("an unknown retention is refused with what there is", "[factory]") {
  const std::string message = refusal({.retention = "forever"});
  CHECK(message.find("policy.retention must be one of \"free\", \"pin\", \"infercept\"") == 0);
  CHECK(message.find("found \"forever\"") != std::string::npos);
}

TEST_CASE("an unknown rule or estimator is refused with what there is", "[factory]") {
  CHECK(refusal({.retention = "pin", .ttl_rule = "luck"})
            .find("policy.ttl_rule must be one of \"fixed\", \"utility\", \"ski_rental\", "
                  "found") == 0);
  CHECK(refusal({.retention = "pin", .estimator = {.name = "tarot"}})
            .find("policy.estimator must be one of \"tool_mean\"") == 0);
}
