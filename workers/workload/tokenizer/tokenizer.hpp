#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace workload {

/// Ids of the control tokens of Llama-3 chat framing.
struct ControlTokens {
  engine::TokenId begin_of_text;
  engine::TokenId start_header;
  engine::TokenId end_header;
  engine::TokenId end_of_turn;
};

/// Turns text into token ids. Immutable after construction; encode() may be called from several
/// threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Appends the tokens of `text` (UTF-8) to `ids`. Control-token spellings in the text are
  /// ordinary text. With `bytes`, appends each token's length in bytes of `text` as well.
  virtual void encode(std::string_view text, std::vector<engine::TokenId>& ids,
                      std::vector<std::uint32_t>* bytes = nullptr) const = 0;
  virtual ControlTokens control() const = 0;
  /// For people and for provenance: the file's name, or "byte estimate (no tokenizer file)".
  virtual std::string name() const = 0;
};

/// Loads a byte-level BPE vocabulary: a tiktoken rank file (`tokenizer.model`, `*.tiktoken`) or a
/// Hugging Face `tokenizer.json`, distinguished by content. Throws engine::InputError naming file
/// and line.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

/// Counts four bytes as one token; ids are hashes of those bytes. name() says that this is an
/// estimate.
std::unique_ptr<Tokenizer> byte_estimate_tokenizer();

}  // namespace workload
