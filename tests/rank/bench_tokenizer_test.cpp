#include "workers/tools/benches.hpp"

#include "tests/support/catch.hpp"

TEST_CASE("the speed measurement counts the text once, however often it is encoded") {
  const auto speed =
      worker::measure_tokenizer(*workload::byte_estimate_tokenizer(), "abcdefghi", 3);
  CHECK(speed.bytes == 9);
  CHECK(speed.tokens == 3);
  CHECK(speed.megabytes_per_second > 0);
}
