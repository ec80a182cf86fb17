#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/tokenizer/bpe_source.hpp"
#include "workers/workload/tokenizer/bpe_vocabulary.hpp"
#include "workers/workload/tokenizer/pretokenizer.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"

namespace workload {
namespace {

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeSource source, const std::string& path)
      : vocabulary_(std::move(source.vocabulary)),
        pretokenizer_(source.patterns, path),
        control_(source.control),
        name_(std::filesystem::path(path).filename().string() + source.note) {}

  void encode(std::string_view text, std::vector<engine::TokenId>& ids,
              std::vector<std::uint32_t>* bytes) const override {
    const auto first = ids.size();
    PieceReader pieces(pretokenizer_, text);
    BpeMerger merger(vocabulary_);
    for (std::string_view piece; pieces.next(piece);) {
      const auto whole = vocabulary_.find(piece);
      if (whole != kNoToken) {
        ids.push_back(whole);
      } else {
        merger.append(piece, ids);
      }
    }
    if (!bytes) return;
    for (auto at = first; at < ids.size(); ++at) {
      bytes->push_back(static_cast<std::uint32_t>(vocabulary_.bytes(ids[at]).size()));
    }
  }

  ControlTokens control() const override { return control_; }
  std::string name() const override { return name_; }

 private:
  BpeVocabulary vocabulary_;
  Pretokenizer pretokenizer_;
  ControlTokens control_;
  std::string name_;
};

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw engine::InputError(path + ": is a directory, expected a tokenizer file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw engine::InputError(path + ": cannot be opened, expected a tokenizer file");
  constexpr std::size_t kMost = std::size_t{64} << 20;  // the largest published has 35 MB
  return sweep::input_text<engine::InputError>(file, path, kMost);
}

constexpr std::size_t kBytesPerToken = 4;
constexpr engine::TokenId kTextIds = 100'000;  // text ids are below this; control tokens follow

/// FNV-1a: the same on every machine and in every run.
engine::TokenId text_id(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % kTextIds;
}

class ByteEstimate final : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<engine::TokenId>& ids,
              std::vector<std::uint32_t>* bytes) const override {
    while (!text.empty()) {
      const auto token = text.substr(0, std::min(kBytesPerToken, text.size()));
      ids.push_back(text_id(token));
      if (bytes) bytes->push_back(static_cast<std::uint32_t>(token.size()));
      text.remove_prefix(token.size());
    }
  }

  ControlTokens control() const override {
    return {kTextIds, kTextIds + 1, kTextIds + 2, kTextIds + 3};
  }

  std::string name() const override { return "byte estimate (no tokenizer file)"; }
};

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  const auto text = read_file(path);
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && text[first] == '{';
  return sweep::fitting_memory<engine::InputError>(path, [&] {
    return std::make_unique<BpeTokenizer>(
        json ? read_tokenizer_json(text, path) : read_rank_file(text, path), path);
  });
}

std::unique_ptr<Tokenizer> byte_estimate_tokenizer() { return std::make_unique<ByteEstimate>(); }

}  // namespace workload
