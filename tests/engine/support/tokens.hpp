#pragma once
#include <initializer_list>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace support {

using Tokens = std::vector<engine::TokenId>;

/// `count` tokens that no other stream contains.
inline Tokens tokens(int count, int stream = 0) {
  Tokens all;
  for (int i = 0; i < count; ++i)
    all.push_back(static_cast<engine::TokenId>(stream * 1'000'000 + i));
  return all;
}

inline Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline std::vector<int> numbers(const auto& ids) {
  std::vector<int> all;
  for (const auto id : ids) all.push_back(static_cast<int>(engine::index(id)));
  return all;
}

using Ids = std::vector<int>;

}  // namespace support
