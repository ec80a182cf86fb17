// Vocabularies that are small enough to merge by hand.
#include "workers/workload/tokenizer/tokenizer.hpp"

#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/tokenizer_fixture.hpp"

namespace {

using namespace tokenizer_test;

class Loaded {
 public:
  explicit Loaded(const std::string& content, const std::string& name = "hand.tiktoken")
      : tokenizer_(workload::load_tokenizer(dir_.write(name, content))) {}
  Ids operator()(const std::string& text) const { return encode(*tokenizer_, text); }
  const workload::Tokenizer* operator->() const { return tokenizer_.get(); }

 private:
  support::TempDir dir_;
  std::unique_ptr<workload::Tokenizer> tokenizer_;
};

TEST_CASE("the byte estimate counts four bytes as one token and says that it is an estimate") {
  const auto tokenizer = workload::byte_estimate_tokenizer();
  Ids ids;
  std::vector<std::uint32_t> bytes;
  tokenizer->encode("abcdabcdef", ids, &bytes);
  CHECK(bytes == std::vector<std::uint32_t>{4, 4, 2});
  REQUIRE(ids.size() == 3);
  CHECK(ids[0] == ids[1]);
  CHECK(ids[0] != ids[2]);
  const auto control = tokenizer->control();
  for (const auto id : ids) CHECK(id < control.begin_of_text);
  CHECK(control.begin_of_text < control.start_header);
  CHECK(control.start_header < control.end_header);
  CHECK(control.end_header < control.end_of_turn);
  CHECK(tokenizer->name().find("estimate") != std::string::npos);
}

TEST_CASE("the pair of the lowest rank merges first, the leftmost of equals") {
  //                                      256   257   258    259
  const Loaded tokenizer(rank_file(bytes_and({"bc", "ab", "abc", "aa"})));
  CHECK(tokenizer("abcd") == Ids{258, 'd'});  // a bc d, then abc d
  CHECK(tokenizer("abd") == Ids{257, 'd'});
  CHECK(tokenizer("aaab") == Ids{259, 257});  // ab goes first: a a ab
  CHECK(tokenizer("aaa") == Ids{259, 'a'});
  CHECK(tokenizer("").empty());
}

TEST_CASE("a piece that is a token needs no merges") {
  const Loaded tokenizer(rank_file(bytes_and({"xyz"})));  // no pair leads to xyz
  CHECK(tokenizer("xyz") == Ids{256});
  CHECK(tokenizer("xyzx") == Ids{'x', 'y', 'z', 'x'});
}

TEST_CASE("merges stay within the pieces that the pattern cuts") {
  const Loaded tokenizer(rank_file(bytes_and({"a ", " b"})));
  CHECK(tokenizer("a b") == Ids{'a', 257});
}

TEST_CASE(
    "tokens and their lengths are appended to what is there, and the lengths cover the text") {
  const Loaded tokenizer(rank_file(bytes_and({"ab"})));
  Ids ids{7};
  std::vector<std::uint32_t> bytes{9};
  tokenizer->encode("abc", ids, &bytes);
  CHECK(ids == Ids{7, 256, 'c'});
  CHECK(bytes == std::vector<std::uint32_t>{9, 2, 1});
}

TEST_CASE("spellings of control tokens in the text are ordinary text") {
  const Loaded tokenizer(rank_file(bytes_and({})));
  CHECK(tokenizer("<|eot_id|>").size() == 10);
  CHECK(tokenizer->control().end_of_turn == 256 + 9);
  CHECK(tokenizer->name() == "hand.tiktoken");
}

TEST_CASE("a tokenizer.json merges by its list, not by ids, and builds every piece from merges") {
  auto file = tokenizer_json({{"b", "c"}, {"a", "b"}, {"a", "bc"}});  // bc 256, ab 257, abc 258
  std::swap(file["model"]["vocab"]["bc"], file["model"]["vocab"]["ab"]);
  file["model"]["vocab"]["xyz"] = 300;  // no merge leads there
  const Loaded tokenizer(file.dump(), "tokenizer.json");
  CHECK(tokenizer("abcd") == Ids{258, 'd'});
  CHECK(tokenizer("abd") == Ids{256, 'd'});
  CHECK(tokenizer("xyz") == Ids{'x', 'y', 'z'});
}

TEST_CASE("a tokenizer.json with ignore_merges takes a whole piece that is a token") {
  auto file = tokenizer_json({});
  file["model"]["vocab"]["xyz"] = 300;
  file["model"]["ignore_merges"] = true;
  CHECK(Loaded(file.dump(), "tokenizer.json")("xyz") == Ids{300});
}

TEST_CASE("a tokenizer.json brings its own split pattern") {
  auto file = tokenizer_json({{"a", "b"}, {"b", "c"}, {"-", "a"}});
  const auto step = [](const char* type) { return nlohmann::json{{"type", type}}; };
  auto split = step("Split"), bytes = step("ByteLevel");
  split["pattern"] = {{"Regex", "a(?=b)|-"}};
  split["behavior"] = "Isolated";
  bytes["use_regex"] = false;
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
  const Loaded tokenizer(file.dump(), "tokenizer.json");
  CHECK(tokenizer("abc-a") == Ids{'a', 257, '-', 'a'});  // unmatched text is a piece too
}

TEST_CASE("a tokenizer.json names its control tokens, and missing ones come behind all ids") {
  auto file = tokenizer_json({});
  file["added_tokens"] = {{{"id", 400}, {"content", "<|begin_of_text|>"}},
                          {{"id", 411}, {"content", "<|eot_id|>"}}};
  const auto control = Loaded(file.dump(), "tokenizer.json")->control();
  CHECK(control.begin_of_text == 400);
  CHECK(control.end_of_turn == 411);
  CHECK(control.start_header == 412 + 6);
  CHECK(control.end_header == 412 + 7);
}

TEST_CASE(
    "a tokenizer.json that asks for NFC is taken, and the name says that NFC is not applied") {
  auto file = tokenizer_json({});
  file["normalizer"] = {{"type", "NFC"}};
  CHECK(Loaded(file.dump(), "tokenizer.json")->name().find("without NFC") != std::string::npos);
}

TEST_CASE("the content of a file decides its kind, not its name") {
  const Loaded ranks(rank_file(bytes_and({"ab"})), "tokenizer.json");
  const Loaded json("\n " + tokenizer_json({{"a", "b"}}).dump(2), "tokenizer.model");
  CHECK(ranks("ab") == Ids{256});
  CHECK(json("ab") == Ids{256});
}

TEST_CASE("several threads encode with one tokenizer") {
  const Loaded tokenizer(rank_file(bytes_and({"ab", "bc", "abc"})));
  std::string text;
  for (int k = 0; k < 200; ++k) text += "abcab bcabc, ";
  const auto expected = tokenizer(text);
  std::vector<Ids> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = tokenizer(text); });
  }
  for (const auto& result : results) CHECK(result == expected);
}

}  // namespace
