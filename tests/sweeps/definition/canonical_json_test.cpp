#include "sweeps/definition/canonical_json.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "sweeps/files/sha256.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;

namespace {

using Values = std::map<std::string, Value>;

std::string json_of(const Value& value) {
  const std::string object = canonical_json(Values{{"x", value}});
  return object.substr(5, object.size() - 6);  // {"x":...}
}

}  // namespace

TEST_CASE("parameters become one line of JSON with sorted keys") {
  const Values values = {{"policy", std::string("fcfs")},
                         {"engine.block_size", std::int64_t{16}},
                         {"jps", 0.5},
                         {"engine.chunked", true}};
  CHECK(canonical_json(values) ==
        R"({"engine.block_size":16,"engine.chunked":true,"jps":0.5,"policy":"fcfs"})");
  CHECK(canonical_json(Values{}) == "{}");
}

TEST_CASE("the same parameters give the same JSON whatever the order and place of writing") {
  ParamMap forward, backward;
  for (int i = 0; i < 50; ++i) forward["k" + std::to_string(i)] = {i * 0.1, {"a.toml", i, 1}};
  for (int i = 49; i >= 0; --i) backward["k" + std::to_string(i)] = {i * 0.1, {"--set", 0, 0}};
  CHECK(canonical_json(forward) == canonical_json(backward));
  CHECK(sha256_of(canonical_json(forward)).size() == 64);
}

TEST_CASE("numbers are written one way only") {
  CHECK(json_of(1.0) == "1");
  CHECK(json_of(std::int64_t{1}) == "1");
  CHECK(json_of(-0.0) == "0");
  CHECK(json_of(1e15) == "1000000000000000");
  CHECK(json_of(1e300) == "1e+300");
  CHECK(json_of(0.1) == "0.1");
  CHECK(json_of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(json_of(std::numeric_limits<double>::infinity()) == "\"Infinity\"");
  CHECK(json_of(-std::numeric_limits<double>::infinity()) == "\"-Infinity\"");
}

TEST_CASE("every finite double reads back as itself") {
  std::mt19937_64 random(7);
  for (int i = 0; i < support::scaled(200'000); ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    REQUIRE(std::strtod(json_of(number).c_str(), nullptr) == number);
    REQUIRE(std::strtod(to_text(Value(number)).c_str(), nullptr) == number);
  }
}

TEST_CASE("strings are escaped where JSON requires it and nowhere else") {
  CHECK(json_of(std::string("a\"b\\c\n\x1f/\xc3\xa9")) == "\"a\\\"b\\\\c\\u000a\\u001f/\xc3\xa9\"");
}

TEST_CASE("nan has no canonical form") {
  const ParamMap params = {{"jps", {std::nan(""), {"m.toml", 3, 1}}}};
  CHECK(message_of([&] { canonical_json(params); }) ==
        "m.toml:3:1: jps must be a number, found nan");
}
