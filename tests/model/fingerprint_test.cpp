#include "workers/model/fingerprint.hpp"

#include <random>
#include <set>
#include <vector>

#include "tests/support/catch.hpp"

namespace {

std::uint64_t hash(std::string_view text, std::uint64_t seed = 0) {
  return model::xxh64(std::as_bytes(std::span(text)), seed);
}

}  // namespace

TEST_CASE("XXH64 gives the digests of other implementations, with and without whole stripes") {
  CHECK(hash("") == 0xef46db3751d8e999u);
  CHECK(hash("a") == 0xd24ec4f1a98c6e5bu);
  CHECK(hash("abc") == 0x44bc2cf5ad770999u);
  CHECK(hash("xxhash") == 0x32dd38952c4bc720u);
  CHECK(hash("xxhash", 20141025) == 0xb559b98d844e0635u);
  CHECK(hash("Call me Ishmael. Some years ago--never mind how long precisely-") ==
        0x02a2e85470d6fd96u);
}

TEST_CASE("a fingerprint changes with every single bit, and with the length") {
  std::vector<std::byte> bytes(100);
  std::mt19937 random(4);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::set<std::string> seen{model::fingerprint(bytes)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    seen.insert(model::fingerprint(bytes));
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    seen.insert(model::fingerprint(std::span(bytes).first(size)));
  CHECK(seen.size() == 1 + 800 + 100);
  CHECK(seen.begin()->size() == 32);
}
