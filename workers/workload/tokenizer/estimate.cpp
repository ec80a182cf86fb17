#include <algorithm>

#include "workers/workload/tokenizer/tokenizer.hpp"

namespace workload {
namespace {

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

std::unique_ptr<Tokenizer> byte_estimate_tokenizer() { return std::make_unique<ByteEstimate>(); }

}  // namespace workload
