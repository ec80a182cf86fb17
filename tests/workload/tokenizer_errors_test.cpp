// Refused tokenizer files, and their error messages.
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/tokenizer_fixture.hpp"
#include "workers/engine/base/errors.hpp"

namespace {

using namespace tokenizer_test;

/// The message with which the file at `path` is refused.
std::string refusal_at(const std::string& path) {
  try {
    workload::load_tokenizer(path);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// The message with which a file named "file" of this content is refused, from its name on.
std::string vocabulary_refusal(const std::string& content) {
  const support::TempDir dir;
  const auto message = refusal_at(dir.write("file", content));
  return message.substr(std::min(message.find("file"), message.size()));
}

std::string json_refusal(const nlohmann::json& content) {
  return vocabulary_refusal(content.dump());
}

void check_says(const std::string& message, const std::string& what) {
  CAPTURE(message, what);
  CHECK(message.find(what) != std::string::npos);
}

/// A rank file of the single bytes, followed by `lines`, which begin at line 257.
std::string with_lines(const std::string& lines) { return rank_file(bytes_and({})) + lines; }

TEST_CASE("a missing tokenizer file is refused with its path") {
  const support::TempDir dir;
  check_says(refusal_at((dir.path() / "none.model").string()), "none.model: cannot be opened");
  check_says(refusal_at(dir.path().string()), "is a directory");
}

TEST_CASE("a file that is not a tokenizer is refused with what it begins with") {
  check_says(vocabulary_refusal("Dear reader,\nhello"), "file:1: found \"Dear reader,\", expected");
  check_says(vocabulary_refusal("\n\x0e\n\x05<unk>\x15"), "file:2: found \"?\", expected");
  check_says(vocabulary_refusal("IQ==\n"), "file:1: found \"IQ==\", expected \"base64 rank\"");
  check_says(vocabulary_refusal(std::string()), "file: no ranks");
}

TEST_CASE("bad base64 in a rank file is refused with the line number") {
  check_says(vocabulary_refusal(with_lines("YW!= 256\n")), "file:257: bad base64 \"YW!=\"");
  check_says(vocabulary_refusal(with_lines("YWI= 256\nYWJjZ 257\n")), "file:258: bad base64");
  check_says(vocabulary_refusal(with_lines("Y=== 256\n")), "file:257: bad base64");
}

TEST_CASE("ranks that are not consecutive from 0 are refused with the line number") {
  check_says(vocabulary_refusal(with_lines("YWI= 5\n")),
             "file:257: duplicate rank 5, expected 256");
  check_says(vocabulary_refusal(with_lines("YWI= 300\n")),
             "file:257: a hole before rank 300, expected 256");
  check_says(vocabulary_refusal(with_lines("YWI= many\n")), "file:257: bad rank \"many\"");
}

TEST_CASE("a rank file that lists the same bytes twice is refused with the line number") {
  check_says(vocabulary_refusal(with_lines("YWI= 256\nYWI= 257\n")),
             "file:258: the bytes \"YWI=\"");
}

TEST_CASE("a vocabulary without a token for every byte is refused") {
  auto tokens = bytes_and({});
  tokens.erase(tokens.begin() + 10);
  check_says(vocabulary_refusal(rank_file(tokens)), "no rank for the single byte 10");
  auto file = tokenizer_json({});
  file["model"]["vocab"].erase("a");
  check_says(json_refusal(file), "no token for the single byte 97");
}

TEST_CASE("a JSON syntax error is refused with line and column") {
  check_says(vocabulary_refusal("{\"model\": {\n  \"type\": BPE}}"),
             "file:2:11: JSON syntax error");
  check_says(vocabulary_refusal("{"), "file:1:2: JSON syntax error");
}

TEST_CASE("a JSON file of another kind is refused with the member it lacks") {
  auto file = tokenizer_json({});
  check_says(vocabulary_refusal("{\"the\": 1}"), "no model,");
  file["model"].erase("vocab");
  check_says(json_refusal(file), "file: no model.vocab");
  file = tokenizer_json({});
  file["model"].erase("merges");
  check_says(json_refusal(file), "file: no model.merges");
}

TEST_CASE("merges that name unknown tokens are refused with their position in the list") {
  auto file = tokenizer_json({{"a", "b"}});
  file["model"]["merges"].push_back("ab zz");
  check_says(json_refusal(file), "model.merges[1] names \"zz\", not in model.vocab");
  file["model"]["merges"][1] = {"ab", "c"};
  check_says(json_refusal(file), "model.merges[1] names \"abc\", not in model.vocab");
  file["model"]["merges"][1] = "abc";
  check_says(json_refusal(file), "model.merges[1] is \"abc\", expected two tokens");
  file["model"]["merges"][1] = 3;
  check_says(json_refusal(file), "model.merges[1] is 3, expected");
}

TEST_CASE("ids that are not ids are refused with the token") {
  auto file = tokenizer_json({});
  file["model"]["vocab"]["ab"] = -1;
  check_says(json_refusal(file), "model.vocab[\"ab\"] is -1, not a token id");
  file["model"]["vocab"]["ab"] = 97;
  check_says(json_refusal(file), "model.vocab gives id 97 twice");
}

TEST_CASE("models and options that would give other tokens are refused by name") {
  auto file = tokenizer_json({});
  const auto with = [&](const char* pointer, nlohmann::json value) {
    auto changed = file;
    changed[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return json_refusal(changed);
  };
  check_says(with("/model/type", "Unigram"), "model.type is \"Unigram\"");
  check_says(with("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix");
  check_says(with("/normalizer", {{"type", "Lowercase"}}), "normalizer is of type Lowercase");
  check_says(with("/pre_tokenizer", {{"type", "Metaspace"}}), "pre_tokenizer is of type Metaspace");
  check_says(with("/pre_tokenizer/add_prefix_space", true), "add_prefix_space");
  check_says(with("/pre_tokenizer", nullptr), "pre_tokenizer is of type null");
}

TEST_CASE("a split pattern that does not compile is refused with the pattern") {
  auto file = tokenizer_json({});
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a|b"}}}, {"behavior", "Isolated"}};
  check_says(json_refusal(file), "does not compile at character 4");
  check_says(json_refusal(file), "(a|b");
}

}  // namespace
