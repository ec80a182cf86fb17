#include <algorithm>
#include <random>

#include "sweeps/canonical_json.hpp"
#include "sweeps/cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

namespace {

constexpr std::string_view kSeed = R"(# question
schema = 1
[sweep]
name = "fuzz"
backend = "sim"
[axes]
gpu = ["h100-80gb", "a100-40gb"]
"engine.block_size" = [8, 16]
jps = [1, 3.5, inf]
dram_gib = [16, 128]
[repeat]
n = 2
seed = 42
[workload]
kind = "agent8"
gap_s = 1.0
nested = {a = 1, b.c = "x"}
[[include]]
gpu = "h200-141gb"
engine.block_size = 8
jps = [2, 4]
[[exclude]]
gpu = "a100-40gb"
jps = [1]
reason = "why"
[[override]]
gpu = ["h100-80gb"]
engine.max_num_batched_tokens = 2048
)";

constexpr std::string_view kPieces[] = {"[",
                                        "]",
                                        "[[",
                                        "]]",
                                        "=",
                                        "\"",
                                        "'",
                                        "\n",
                                        ".",
                                        ",",
                                        "{",
                                        "}",
                                        "#",
                                        "\\",
                                        "\"\"\"",
                                        "nan",
                                        "-inf",
                                        "1979-05-27",
                                        "0x",
                                        "99999999999999999999",
                                        "1e999",
                                        "true",
                                        "schema",
                                        "axes",
                                        "[axes]\n",
                                        "[[axes]]\n",
                                        "[[exclude]]\n",
                                        "reason = 1\n",
                                        "[repeat]\n",
                                        "\xff",
                                        "\0",
                                        "\xef\xbb\xbf",
                                        "é"};

/// One to four random edits: drop, repeat, swap or insert.
std::string mutated(std::mt19937& random) {
  std::string text(kSeed);
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size()), length = 1 + below(40);
    const std::string piece = text.substr(at, length);
    switch (below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(below(text.size()), piece);
        break;
      case 2:
        text[at] = static_cast<char>(random());
        break;
      default:
        text.insert(at, kPieces[below(std::size(kPieces))]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a mangled sweep file is read or refused with a place, never anything else") {
  std::mt19937 random(11);
  int refused = 0, read = 0;
  for (int round = 0; round < support::scaled(20'000); ++round) {
    const std::string text = mutated(random);
    INFO(text);
    try {
      for (const Cell& cell :
           expand(parse_spec(text, "m.toml"), [](const auto&) { return true; })) {
        canonical_json(cell.params);
      }
      ++read;
    } catch (const SpecError& error) {
      ++refused;
      REQUIRE(std::string(error.what()).starts_with("m.toml:"));
    } catch (const std::exception& error) {
      FAIL(error.what());
    }
  }
  CHECK(refused > read / 10);
  CHECK(read > 0);
}
