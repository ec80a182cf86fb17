#include <algorithm>
#include <random>

#include "tests/fuzz/targets.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace {

class Mutator {
 public:
  Mutator(const fuzz::Target& target, unsigned seed)
      : seeds_(target.seeds()), words_(target.words), random_(seed) {}

  const std::vector<std::string>& seeds() const { return seeds_; }

  /// A seed with one to four edits.
  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % std::max<std::size_t>(n, 1); }

  /// Headers stand in front: half of the edits fall there.
  std::size_t place(const std::string& bytes) {
    return below(below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 256));
  }

  void edit(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = place(bytes), length = 1 + below(40);
    switch (below(words_.empty() ? 6 : 8)) {
      case 0:
        bytes.erase(at, length);
        break;
      case 1:
        bytes.insert(place(bytes), bytes.substr(at, length));
        break;
      case 2:
        bytes[at] = static_cast<char>(random_());
        break;
      case 3:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 4:
        if (below(4) == 0) bytes.resize(at);
        break;
      case 5:
        change_digit(bytes, at);
        break;
      case 6:
        bytes.insert(at, words_[below(words_.size())]);
        break;
      default:
        bytes.replace(at, std::min<std::size_t>(length, 8), words_[below(words_.size())]);
    }
  }

  /// Sizes and offsets that nearly fit.
  void change_digit(std::string& bytes, std::size_t from) {
    const std::size_t at = bytes.find_first_of("0123456789", from);
    if (at != bytes.npos) bytes[at] = static_cast<char>('0' + below(10));
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
  std::mt19937 random_;
};

/// Of what is mutated, some is refused and some is not: seeds that are all refused test nothing.
void check(const std::string& name) {
  const fuzz::Target& target = fuzz::target(name);
  Mutator mutator(target, 11);
  for (const std::string& seed : mutator.seeds()) REQUIRE(target.accepts(seed));
  int refused = 0;
  const int rounds = support::scaled(20'000);
  for (int round = 0; round < rounds; ++round) {
    const std::string bytes = mutator.next();
    try {
      refused += target.accepts(bytes) ? 0 : 1;
    } catch (const std::exception& error) {
      FAIL("round " << round << ": " << error.what() << "\nof: " << bytes);
    }
  }
  CHECK(refused > rounds / 20);
}

}  // namespace

TEST_CASE("a mangled sweep file is read or refused with a place", "[fuzz]") { check("sweep"); }

TEST_CASE("a mangled .gz gives lines or is refused with its file", "[fuzz]") { check("gzip"); }

TEST_CASE("a mangled list of requests is read or refused with its file", "[fuzz]") {
  check("requests");
}

TEST_CASE("a mangled list of arrivals is read or refused with its file", "[fuzz]") {
  check("arrivals");
}

TEST_CASE("a mangled trace is read or refused with its file", "[fuzz]") { check("trace"); }

TEST_CASE("mangled safetensors load or are refused with their folder", "[fuzz]") {
  check("safetensors");
}

TEST_CASE("a mangled config.json is read or refused with its file", "[fuzz]") { check("config"); }

TEST_CASE("mangled frames are the messages that they are or refused", "[fuzz]") { check("frames"); }

TEST_CASE("a mangled shard is refused with its name", "[fuzz]") { check("shard"); }

TEST_CASE("a mangled stream of a server is read or refused, alike however it is split", "[fuzz]") {
  check("server_stream");
}
