#include "workers/policies/factory.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "workers/engine/errors.hpp"

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

}  // namespace

TEST_CASE("every order and retention that is named can be made", "[factory]") {
  CHECK(policies::order_names().size() >= 3);
  CHECK(policies::retention_names().size() >= 2);
  for (const auto& name : policies::order_names()) CHECK(policies::make_order({.order = name}));
  for (const auto& name : policies::retention_names())
    CHECK(policies::make_retention({.retention = name}));
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
  CHECK(message.find("policy.retention must be one of \"free\", \"pin\"") == 0);
  CHECK(message.find("found \"forever\"") != std::string::npos);
}
