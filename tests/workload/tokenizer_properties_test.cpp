// Properties of every text and every vocabulary, checked on random ones.
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/tokenizer_fixture.hpp"
#include "workers/workload/tokenizer/bpe_source.hpp"
#include "workers/workload/tokenizer/bpe_vocabulary.hpp"
#include "workers/workload/tokenizer/pretokenizer.hpp"

namespace {

using namespace tokenizer_test;

/// Tokens over few letters, each of which joins two earlier ones.
std::vector<std::string> random_tokens(std::mt19937& random, unsigned letters, std::size_t count) {
  std::vector<std::string> pool;
  for (unsigned k = 0; k < letters; ++k) pool.emplace_back(1, static_cast<char>('a' + k));
  std::set<std::string> seen;
  std::vector<std::string> tokens;
  while (tokens.size() < count) {
    const auto joined = pool[random() % pool.size()] + pool[random() % pool.size()];
    if (joined.size() > 12 || !seen.insert(joined).second) continue;
    pool.push_back(joined);
    tokens.push_back(joined);
  }
  return bytes_and(tokens);
}

/// Repeatedly joins the leftmost of the adjacent pairs that `priority` ranks lowest, while any pair
/// may join.
template <class Priority>
std::vector<std::string> merge_naively(const std::string& piece, const Priority& priority) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    auto lowest = workload::kNoMerge;
    std::size_t best = 0;
    for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
      const auto here = priority(parts[at], parts[at + 1]);
      if (here < lowest) lowest = here, best = at;
    }
    if (lowest == workload::kNoMerge) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

std::vector<std::string> merge(const workload::BpeVocabulary& vocabulary,
                               const std::string& piece) {
  Ids ids;
  workload::BpeMerger(vocabulary).append(piece, ids);
  std::vector<std::string> parts;
  for (const auto id : ids) parts.emplace_back(vocabulary.bytes(id));
  return parts;
}

TEST_CASE("merging by ranks gives what the naive merge gives, for pieces of every length") {
  std::mt19937 random(1);
  for (int round = 0; round < support::scaled(40); ++round) {
    const auto letters = 2 + static_cast<unsigned>(random()) % 4;
    const auto tokens = random_tokens(random, letters, 60);
    const auto vocabulary = workload::BpeVocabulary::from_ranks(tokens);
    std::map<std::string, std::uint32_t> ranks;
    for (const auto& token : tokens) ranks.emplace(token, static_cast<std::uint32_t>(ranks.size()));
    const auto priority = [&](const std::string& left, const std::string& right) {
      const auto found = ranks.find(left + right);
      return found == ranks.end() ? workload::kNoMerge : found->second;
    };
    for (std::size_t size = 1; size < 140; ++size) {
      const auto piece = random_word(random, letters, size);
      REQUIRE(merge(vocabulary, piece) == merge_naively(piece, priority));
    }
  }
}

TEST_CASE("merging by a merge list gives what the naive merge gives, for pieces of every length") {
  std::mt19937 random(2);
  for (int round = 0; round < support::scaled(40); ++round) {
    const auto tokens = random_tokens(random, 3, 60);
    std::map<std::pair<std::string, std::string>, std::uint32_t> priorities;
    std::map<std::string, engine::TokenId> ids;
    for (const auto& token : tokens) ids.emplace(token, static_cast<engine::TokenId>(ids.size()));
    std::vector<workload::MergeRule> rules;
    while (rules.size() < 80) {  // some of the pairs that join to a token, in any order
      const auto& token = tokens[256 + random() % 60];
      const auto cut = 1 + random() % (token.size() - 1);
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      priorities.emplace(std::pair{left->first, right->first}, rules.size());
      rules.push_back({left->second, right->second, ids[token]});
    }
    const auto vocabulary = workload::BpeVocabulary::from_merges(tokens, rules, false);
    const auto priority = [&](const std::string& left, const std::string& right) {
      const auto found = priorities.find({left, right});
      return found == priorities.end() ? workload::kNoMerge : found->second;
    };
    for (std::size_t size = 1; size < 140; ++size) {
      const auto piece = random_word(random, 3, size);
      REQUIRE(merge(vocabulary, piece) == merge_naively(piece, priority));
    }
  }
}

/// Checks, over random texts, that no part of a text is lost or added.
void check_round_trips(const std::string& content, const char* kind) {
  const support::TempDir dir;
  const auto path = dir.write("ranks", content);
  const auto tokenizer = workload::load_tokenizer(path);
  const auto vocabulary = workload::read_rank_file(content, path).vocabulary;
  std::mt19937 random(3);
  INFO(kind);
  for (int round = 0; round < support::scaled(2000); ++round) {
    const auto size = random() % 200;
    std::string text = round % 2 == 0 ? random_utf8(random, size) : random_bytes(random, size);
    if (round % 4 == 3) text = random_utf8(random, size) + text + random_utf8(random, size);
    Ids ids;
    std::vector<std::uint32_t> bytes;
    tokenizer->encode(text, ids, &bytes);
    REQUIRE(vocabulary.decode(ids) == text);
    REQUIRE(bytes.size() == ids.size());
    REQUIRE(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) == text.size());
  }
}

TEST_CASE("decoding gives back every text and every run of random bytes: hand-made vocabulary") {
  std::mt19937 random(4);
  check_round_trips(rank_file(random_tokens(random, 26, 500)), "random tokens");
}

TEST_CASE("decoding gives back every text and every run of random bytes: cl100k") {
  const auto path = support::shared_path("data/tokenizers/cl100k_base.tiktoken");
  if (!path) SKIP_TEST("no shared folder with the cl100k rank file");
  std::ifstream file(*path, std::ios::binary);
  check_round_trips({std::istreambuf_iterator<char>(file), {}}, "cl100k");
}

std::vector<std::string> pieces(const char* pattern, const std::string& text) {
  const workload::Pretokenizer pretokenizer({pattern}, "test");
  workload::PieceReader reader(pretokenizer, text);
  std::vector<std::string> found;
  for (std::string_view piece; reader.next(piece);) found.emplace_back(piece);
  return found;
}

using Pieces = std::vector<std::string>;

TEST_CASE("the cl100k pattern cuts words, digits by three, punctuation and space") {
  const auto cut = [](const std::string& text) { return pieces(workload::kCl100kPattern, text); };
  CHECK(cut("I'LL go  12345!\n\n x") ==
        Pieces{"I", "'LL", " go", " ", " ", "123", "45", "!\n\n", " x"});
  CHECK(cut("  \n  (a") == Pieces{"  \n", " ", " (", "a"});
  CHECK(cut(".größe") == Pieces{".größe"});
}

TEST_CASE("the pattern in the files of Llama 3 cuts every text as the cl100k pattern does") {
  const char* llama3 = R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})re"
                       R"re(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
  const std::string likely[] = {" ",   "  ", "\n",    "\r\n", "\t", "'",
                                "'ll", "'S", "12345", "word", "."};
  std::mt19937 random(5);
  for (int round = 0; round < support::scaled(1000); ++round) {
    std::string text;
    for (int k = 0; k < 40; ++k) {
      text += random() % 3 == 0 ? random_utf8(random, 2) : likely[random() % std::size(likely)];
    }
    REQUIRE(pieces(llama3, text) == pieces(workload::kCl100kPattern, text));
  }
}

TEST_CASE("the GPT-2 pattern keeps numbers whole and contractions in lower case only") {
  const auto cut = [](const std::string& text) { return pieces(workload::kGpt2Pattern, text); };
  CHECK(cut("I'll 12345") == Pieces{"I", "'ll", " 12345"});
  CHECK(cut("I'LL") == Pieces{"I", "'", "LL"});
}

TEST_CASE("a byte that is not valid UTF-8 is a piece of its own") {
  const auto cut = [](const std::string& text) { return pieces(workload::kCl100kPattern, text); };
  CHECK(cut("ab\xFF"
            "cd") == Pieces{"ab", "\xFF", "cd"});
  CHECK(cut("\xE2\x82") == Pieces{"\xE2", "\x82"});              // cut off
  CHECK(cut("\xC0\xAF") == Pieces{"\xC0", "\xAF"});              // overlong
  CHECK(cut("\xED\xA0\x80") == Pieces{"\xED", "\xA0", "\x80"});  // a surrogate
  CHECK(cut("\xF4\x90\x80\x80").size() == 4);                    // above U+10FFFF
  CHECK(cut("\xF4\x8F\xBF\xBF").size() == 1);
}

TEST_CASE("a piece of 100,000 equal letters takes no more merges than it has letters") {
  std::vector<std::string> powers;
  for (std::size_t size = 2; size <= 64; size *= 2) powers.emplace_back(size, 'a');
  const auto vocabulary = workload::BpeVocabulary::from_ranks(bytes_and(powers));
  const auto parts = merge(vocabulary, std::string(100'000, 'a'));
  CHECK(parts.size() == 100'000 / 64 + 1);  // 32 letters remain
  CHECK(parts.back().size() == 32);
}

}  // namespace
