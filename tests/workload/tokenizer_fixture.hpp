#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "workers/workload/tokenizer/bpe_alphabet.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"

namespace tokenizer_test {

using Ids = std::vector<engine::TokenId>;

inline Ids encode(const workload::Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  tokenizer.encode(text, ids);
  return ids;
}

inline std::string base64(const std::string& bytes) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8U | (at + k < bytes.size() ? static_cast<unsigned char>(bytes[at + k]) : 0U);
    }
    for (unsigned k = 0; k < 4; ++k) {
      text += at + k <= bytes.size() ? digits[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

/// The 256 single bytes in order, then `more`.
inline std::vector<std::string> bytes_and(const std::vector<std::string>& more) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

/// The rank file of these tokens.
inline std::string rank_file(const std::vector<std::string>& tokens) {
  std::string text;
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    text += base64(tokens[rank]) + " " + std::to_string(rank) + "\n";
  }
  return text;
}

using Rules = std::vector<std::pair<std::string, std::string>>;

/// A tokenizer.json with the 256 single bytes as ids 0 to 255 and the results of `rules` behind
/// them.
inline nlohmann::json tokenizer_json(const Rules& rules) {
  using workload::spelling_of_bytes;
  auto vocab = nlohmann::json::object();
  for (const auto& byte : bytes_and({})) vocab[spelling_of_bytes(byte)] = vocab.size();
  auto merges = nlohmann::json::array();
  for (const auto& [left, right] : rules) {
    const auto merged = spelling_of_bytes(left + right);
    if (!vocab.contains(merged)) vocab[merged] = vocab.size();
    merges.push_back(spelling_of_bytes(left) + " " + spelling_of_bytes(right));
  }
  return {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

/// Text over the first `letters` letters: few letters make equal pairs and overlapping merges
/// frequent.
inline std::string random_word(std::mt19937& random, unsigned letters, std::size_t size) {
  std::string word;
  while (word.size() < size) word += static_cast<char>('a' + random() % letters);
  return word;
}

inline std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(random() & 0xFFU);
  return bytes;
}

inline void append_utf8(std::string& text, unsigned code_point) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (code_point >> shift & 0x3FU));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0U | code_point >> 6U);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0U | code_point >> 12U);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0U | code_point >> 18U);
    tail(12), tail(6), tail(0);
  }
}

/// Valid UTF-8 from all planes, half of it ASCII.
inline std::string random_utf8(std::mt19937& random, std::size_t characters) {
  std::string text;
  while (characters > 0) {
    const unsigned below[] = {0x80, 0x80, 0x80, 0x250, 0x3000, 0x110000};
    const unsigned code_point = static_cast<unsigned>(random()) % below[random() % 6];
    if (code_point >= 0xD800 && code_point < 0xE000) continue;  // surrogates
    append_utf8(text, code_point);
    --characters;
  }
  return text;
}

}  // namespace tokenizer_test
