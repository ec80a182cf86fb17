#include "workers/workload/tokenizer.hpp"

#include <numeric>

#include "tests/support/catch.hpp"

namespace {

TEST_CASE("the byte estimate counts four bytes as one token and says that it is an estimate") {
  const auto tokenizer = workload::byte_estimate_tokenizer();
  std::vector<engine::TokenId> ids;
  std::vector<std::uint32_t> bytes;
  tokenizer->encode("abcdabcdef", ids, &bytes);
  CHECK(bytes == std::vector<std::uint32_t>{4, 4, 2});
  REQUIRE(ids.size() == 3);
  CHECK(ids[0] == ids[1]);
  CHECK(ids[0] != ids[2]);
  for (const auto id : ids) CHECK(id < tokenizer->control().begin_of_text);
  CHECK(tokenizer->name().find("estimate") != std::string::npos);
}

}  // namespace
