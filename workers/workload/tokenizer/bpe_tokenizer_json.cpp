#include <nlohmann/json.hpp>
#include <unordered_map>

#include "sweeps/files/strict_json.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/tokenizer/bpe_alphabet.hpp"
#include "workers/workload/tokenizer/bpe_source.hpp"
#include "workers/workload/tokenizer/pretokenizer.hpp"

namespace workload {
namespace {

using nlohmann::json;

std::string size_of(const std::string& token) {
  return std::to_string(token.size()) + " bytes, allowed " + std::to_string(kLongestToken);
}

/// Turns the sections of one tokenizer.json into a BpeSource; keeps the path for messages.
class TokenizerJson {
 public:
  TokenizerJson(const std::string& text, const std::string& path) : path_(path) {
    try {
      root_ = sweep::strict_json(text);
    } catch (const sweep::JsonRefused& refused) {
      if (refused.byte > 0) refuse_syntax(text, refused);
      refuse(std::string("JSON ") + refused.what());
    }
  }

  BpeSource read() {
    const auto& model = member(root_, "model", "model");
    check_model(model);
    read_vocabulary(member(model, "vocab", "model.vocab"));
    const auto rules = read_merges(member(model, "merges", "model.merges"));
    const auto whole_pieces = model.contains("ignore_merges") && model["ignore_merges"] == true;
    auto patterns = read_patterns();
    auto note = read_normalizer();
    return {BpeVocabulary::from_merges(tokens_, rules, whole_pieces), std::move(patterns),
            read_control(), std::move(note)};
  }

 private:
  void check_model(const json& model) const;
  void read_vocabulary(const json& vocab);
  engine::TokenId token_id(const json& value, const std::string& where) const;
  std::vector<MergeRule> read_merges(const json& merges) const;
  MergeRule read_merge(const json& merge, const std::string& where) const;
  engine::TokenId token(const std::string& spelling, const std::string& where) const;
  std::vector<std::string> read_patterns() const;
  void add_patterns(const json& step, std::vector<std::string>& patterns) const;
  std::string split_pattern(const json& split) const;
  std::string read_normalizer() const;
  ControlTokens read_control() const;

  const json& member(const json& object, const char* key, const std::string& name) const {
    if (!object.is_object() || !object.contains(key)) {
      refuse("no " + name + ", not a tokenizer.json of byte-level BPE");
    }
    return object[key];
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw engine::InputError(path_ + ": " + why);
  }
  [[noreturn]] void refuse_syntax(const std::string& text, const sweep::JsonRefused& error) const;

  const std::string& path_;
  json root_;
  std::unordered_map<std::string, engine::TokenId> ids_;  // by spelling in the byte alphabet
  std::vector<std::string> tokens_;                       // bytes by id
};

void TokenizerJson::refuse_syntax(const std::string& text, const sweep::JsonRefused& error) const {
  const auto at = std::min(error.byte - 1, text.size());
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const auto line_begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const auto column = line_begin == std::string::npos ? at + 1 : at - line_begin;
  const std::string what = error.what();  // the library's own position precedes "syntax error"
  const auto cause = what.find("syntax error");
  throw engine::InputError(path_ + ":" + std::to_string(line) + ":" + std::to_string(column) +
                           ": JSON " + (cause == what.npos ? what : what.substr(cause)));
}

/// Refuses options that change the tokens of byte-level BPE.
void TokenizerJson::check_model(const json& model) const {
  const auto type = model.value("type", "BPE");
  if (type != "BPE") refuse("model.type is \"" + type + "\", supported is \"BPE\"");
  for (const auto* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.contains(key) && !model[key].is_null() && model[key] != "") {
      refuse(std::string("model.") + key + " is " + model[key].dump() + ", supported is null");
    }
  }
}

engine::TokenId TokenizerJson::token_id(const json& value, const std::string& where) const {
  constexpr std::uint64_t kMaxId = 1U << 21U;  // the largest published vocabulary has 2^18 ids
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxId) {
    refuse(where + " is " + value.dump() + ", not a token id");
  }
  return value.get<engine::TokenId>();
}

void TokenizerJson::read_vocabulary(const json& vocab) {
  if (!vocab.is_object() || vocab.empty()) refuse("model.vocab is not an object of token: id");
  for (const auto& [spelling, value] : vocab.items()) {
    const auto id = token_id(value, "model.vocab[" + json(spelling).dump() + "]");
    if (spelling.size() > kLongestToken) refuse("model.vocab has a token of " + size_of(spelling));
    if (id >= tokens_.size()) tokens_.resize(id + 1);
    if (!tokens_[id].empty()) refuse("model.vocab gives id " + std::to_string(id) + " twice");
    // A spelling outside the alphabet belongs to a control token, which text cannot produce.
    tokens_[id] = bytes_of_spelling(spelling).value_or(spelling);
    ids_.emplace(spelling, id);
  }
  if (const int byte = missing_byte(tokens_); byte >= 0) {
    refuse("model.vocab is not byte-level: no token for the single byte " + std::to_string(byte));
  }
}

engine::TokenId TokenizerJson::token(const std::string& spelling, const std::string& where) const {
  const auto found = ids_.find(spelling);
  if (found == ids_.end())
    refuse(where + " names " + json(spelling).dump() + ", not in model.vocab");
  return found->second;
}

/// A merge is "left right" or, in newer files, ["left", "right"].
MergeRule TokenizerJson::read_merge(const json& merge, const std::string& where) const {
  std::string left, right;
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const auto space = text.find(' ');
    if (space == std::string::npos) refuse(where + " is " + merge.dump() + ", expected two tokens");
    left = text.substr(0, space);
    right = text.substr(space + 1);
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    left = merge[0];
    right = merge[1];
  } else {
    refuse(where + " is " + merge.dump() + ", expected \"a b\" or [\"a\", \"b\"]");
  }
  return {token(left, where), token(right, where), token(left + right, where)};
}

std::vector<MergeRule> TokenizerJson::read_merges(const json& merges) const {
  if (!merges.is_array()) refuse("model.merges is not an array");
  std::vector<MergeRule> rules;
  rules.reserve(merges.size());
  for (const auto& merge : merges) {
    rules.push_back(read_merge(merge, "model.merges[" + std::to_string(rules.size()) + "]"));
  }
  return rules;
}

std::vector<std::string> TokenizerJson::read_patterns() const {
  std::vector<std::string> patterns;
  const auto& pre = member(root_, "pre_tokenizer", "pre_tokenizer");
  if (pre.is_object() && pre.value("type", "") == "Sequence") {
    for (const auto& step : member(pre, "pretokenizers", "pre_tokenizer.pretokenizers")) {
      add_patterns(step, patterns);
    }
  } else {
    add_patterns(pre, patterns);
  }
  if (patterns.empty()) patterns.emplace_back("(?s).+");  // nothing splits the text
  return patterns;
}

void TokenizerJson::add_patterns(const json& step, std::vector<std::string>& patterns) const {
  const auto type = step.is_object() ? step.value("type", "") : step.dump();
  if (type == "Split") {
    patterns.push_back(split_pattern(step));
  } else if (type == "Digits") {
    patterns.emplace_back(step.value("individual_digits", false) ? "\\p{N}" : "\\p{N}+");
  } else if (type == "ByteLevel") {
    if (step.value("add_prefix_space", false)) {
      refuse("pre_tokenizer asks for add_prefix_space, which is not supported");
    }
    if (step.value("use_regex", true)) patterns.emplace_back(kGpt2Pattern);
  } else {
    refuse("pre_tokenizer is of type " + type + ", supported are Split, Digits and ByteLevel");
  }
}

std::string TokenizerJson::split_pattern(const json& split) const {
  const auto& pattern = member(split, "pattern", "pattern in the pre_tokenizer's Split");
  const auto& regex = member(pattern, "Regex", "pattern.Regex in the pre_tokenizer's Split");
  const auto behavior = split.value("behavior", "");
  const bool inverted = split.value("invert", false);
  // Removing the text between matches leaves the matches, which gives the same pieces for a pattern
  // that matches all text.
  if (behavior != "Isolated" && !(behavior == "Removed" && inverted)) {
    refuse("pre_tokenizer's Split has the behavior \"" + behavior +
           "\", supported is \"Isolated\"");
  }
  return regex.get<std::string>();
}

std::string TokenizerJson::read_normalizer() const {
  if (!root_.contains("normalizer") || root_["normalizer"].is_null()) return "";
  const auto& normalizer = root_["normalizer"];
  const auto type = normalizer.is_object() ? normalizer.value("type", "") : normalizer.dump();
  if (type == "NFC") return " (text taken as it is, without NFC)";
  refuse("normalizer is of type " + type + ", supported are null and NFC");
}

/// Control tokens by their Llama 3 names. A missing one gets an id behind all ids of the file.
ControlTokens TokenizerJson::read_control() const {
  std::unordered_map<std::string, engine::TokenId> added;
  auto behind = static_cast<engine::TokenId>(tokens_.size());
  if (root_.contains("added_tokens") && root_["added_tokens"].is_array()) {
    for (const auto& entry : root_["added_tokens"]) {
      const auto& content = member(entry, "content", "content in added_tokens");
      const auto id = token_id(member(entry, "id", "id in added_tokens"), "id in added_tokens");
      added[content.get<std::string>()] = id;
      behind = std::max(behind, id + 1);
    }
  }
  const auto control = [&](const char* name, engine::TokenId offset) {
    const auto found = added.find(name);
    return found == added.end() ? behind + offset : found->second;
  };
  return {control("<|begin_of_text|>", 0), control("<|start_header_id|>", 6),
          control("<|end_header_id|>", 7), control("<|eot_id|>", 9)};
}

}  // namespace

BpeSource read_tokenizer_json(const std::string& text, const std::string& path) {
  try {
    return TokenizerJson(text, path).read();
  } catch (const json::exception& error) {  // a value of the wrong type
    throw engine::InputError(path + ": not a tokenizer.json: " + error.what());
  }
}

}  // namespace workload
