// Published vectors: the output of other implementations of the same vocabularies.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"

namespace {

using Ids = std::vector<engine::TokenId>;

struct Vector {
  std::string text;
  Ids ids;
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (auto end = text.find(separator); end != std::string::npos; end = text.find(separator, at)) {
    parts.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

/// The numbers in a text.
Ids numbers(std::string text) {
  for (char& c : text) {
    if (c < '0' || c > '9') c = ' ';
  }
  std::istringstream in(text);
  return {std::istream_iterator<engine::TokenId>(in), {}};
}

/// Records "EncodingName: e", "Sample: text", "Encoded: [1, 2]" of one encoding.
std::vector<Vector> test_plan(const std::filesystem::path& path, const std::string& encoding) {
  std::vector<Vector> vectors;
  for (const auto& record : split(content(path), "EncodingName: ")) {
    if (record.rfind(encoding + "\n", 0) != 0) continue;
    const std::string sample = "\nSample: ", encoded = "\nEncoded: ";
    const auto text = record.find(sample) + sample.size();
    const auto ids = record.find(encoded, text - 1);
    vectors.push_back({record.substr(text, ids - text), numbers(record.substr(ids))});
  }
  return vectors;
}

void check_all(const workload::Tokenizer& tokenizer, const std::vector<Vector>& vectors) {
  for (const auto& vector : vectors) {
    Ids ids;
    std::vector<std::uint32_t> bytes;
    tokenizer.encode(vector.text, ids, &bytes);
    CAPTURE(vector.text);
    CHECK(ids == vector.ids);
    CHECK(bytes.size() == ids.size());
  }
}

void check_test_plan(const std::string& encoding) {
  const auto folder = support::shared_path("data/tokenizers");
  if (!folder) SKIP_TEST("no shared folder with " + encoding + " and its vectors");
  const auto vectors = test_plan(*folder / "gpt-tokenizer.TestPlans.txt", encoding);
  REQUIRE(vectors.size() == 64);
  check_all(*workload::load_tokenizer((*folder / (encoding + ".tiktoken")).string()), vectors);
}

TEST_CASE("the cl100k rank file reproduces every published vector") {
  check_test_plan("cl100k_base");
}

TEST_CASE("the r50k rank file reproduces every published vector") { check_test_plan("r50k_base"); }

/// The content of GPT-2's `tokenizer.json`, assembled from the two files of the older format.
nlohmann::json gpt2_json(const std::filesystem::path& folder, bool merges_as_pairs) {
  auto lines = split(content(folder / "gpt2_vocab.bpe"), "\n");
  lines.erase(lines.begin());  // "#version: 0.2"
  auto merges = nlohmann::json::array();
  for (const auto& line : lines) {
    if (line.empty()) continue;
    if (merges_as_pairs) {
      merges.push_back(split(line, " "));
    } else {
      merges.push_back(line);
    }
  }
  const auto end_of_text = R"([{"id": 50256, "content": "<|endoftext|>", "special": true}])";
  return {
      {"added_tokens", nlohmann::json::parse(end_of_text)},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", nlohmann::json::parse(content(folder / "gpt2_encoder.json"))},
        {"merges", std::move(merges)}}}};
}

void check_gpt2_json(bool merges_as_pairs) {
  const auto folder = support::shared_path("data/tokenizers");
  if (!folder) SKIP_TEST("no shared folder with the vocabulary of GPT-2 and its vectors");
  const auto texts = split(content(*folder / "gpt-2.inp.txt"), "\n__ggml_vocab_test__\n");
  const auto ids = split(content(*folder / "gpt-2.out.txt"), "\n");
  REQUIRE(texts.size() == ids.size());
  std::vector<Vector> vectors;
  for (std::size_t at = 0; at < texts.size(); ++at)
    vectors.push_back({texts[at], numbers(ids[at])});

  const support::TempDir dir;
  const auto path = dir.write("tokenizer.json", gpt2_json(*folder, merges_as_pairs).dump());
  const auto tokenizer = workload::load_tokenizer(path);
  check_all(*tokenizer, vectors);
  check_all(*tokenizer, test_plan(*folder / "gpt-tokenizer.TestPlans.txt", "r50k_base"));
}

TEST_CASE("a tokenizer.json of GPT-2 with merges as strings reproduces every published vector") {
  check_gpt2_json(false);
}

TEST_CASE("a tokenizer.json of GPT-2 with merges as pairs reproduces every published vector") {
  check_gpt2_json(true);
}

TEST_CASE("control tokens lie behind the ranks at the offsets of Llama 3") {
  const auto path = support::shared_path("data/tokenizers/cl100k_base.tiktoken");
  if (!path) SKIP_TEST("no shared folder with the cl100k rank file");
  const auto control = workload::load_tokenizer(path->string())->control();
  CHECK(control.begin_of_text == 100'256);
  CHECK(control.start_header == 100'262);
  CHECK(control.end_header == 100'263);
  CHECK(control.end_of_turn == 100'265);
}

}  // namespace
