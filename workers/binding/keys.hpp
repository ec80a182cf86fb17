#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "workers/binding/key.hpp"

namespace worker {

/// Hashes names by their length and the eight bytes at each end, in which they differ.
struct NameHash {
  std::size_t operator()(std::string_view name) const noexcept {
    std::uint64_t head = 0, tail = 0;
    const std::size_t bytes = std::min(name.size(), sizeof head);
    std::memcpy(&head, name.data(), bytes);
    std::memcpy(&tail, name.data() + (name.size() - bytes), bytes);
    const std::uint64_t mixed = (head ^ std::rotl(tail, 29) ^ name.size()) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};

/// Every key that a sweep file may set. Names are numbered in alphabetical order, and behind them
/// stands the backend, at which conditions look as at a key.
class KeyTable {
 public:
  /// Returns the value of a name or the backend; null where there is none.
  using ValueOf = std::function<const sweep::Value*(std::size_t number)>;
  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

  explicit KeyTable(std::vector<Key> rows);
  KeyTable(KeyTable&&) = default;

  /// In the order of the documentation.
  const std::vector<Key>& keys() const { return keys_; }
  /// Each name once, sorted.
  const std::vector<std::string>& names() const { return names_; }
  std::size_t backend() const { return names_.size(); }
  std::size_t number_of(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? kUnknown : found->second;
  }
  bool has(std::string_view name) const { return number_of(name) != kUnknown; }

  /// The first row of a name.
  const Key& first_row(std::size_t number) const { return *rows_[number].front(); }
  /// The row of a name whose condition holds; null where none does.
  template <class Values>
  const Key* counting(std::size_t number, const Values& value_of) const {
    const auto holds = [&](const policies::KeyTest& test) {
      return passes(test, value_of(test.number));
    };
    for (const Key* row : rows_[number])
      if (row->where.holds(holds)) return row;
    return nullptr;
  }
  /// The tests of a row's condition that hold, in words.
  std::string reasons(const Key& key, const ValueOf& value_of) const;
  /// Whether some row of `name` counts, whatever its own value is; true for unknown names.
  bool may_count(std::string_view name, const ValueOf& value_of) const;
  /// The default of `name`; null where no value says it, or not the same one in every row.
  const sweep::Value* fallback(std::string_view name) const;
  /// Whether `backend` makes nothing of the key, whatever else is set.
  bool has_no_effect_on(const std::string& backend, std::string_view name) const;
  /// Where the key counts, over all its rows; empty: always.
  std::string where_in_words(std::string_view name) const;

 private:
  static bool passes(const policies::KeyTest& test, const sweep::Value* value);
  /// Finds the number of the key that a test looks at. Throws std::logic_error for an unknown key
  /// or a value that it cannot have.
  void resolve(const Key& key, policies::KeyTest& test) const;

  std::vector<Key> keys_;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::size_t, NameHash> numbers_;
  std::vector<std::vector<const Key*>> rows_;  // by number
};

/// The rows of kvsweep's own table.
std::vector<Key> sweep_key_rows();
/// The table of them.
const KeyTable& sweep_keys();

}  // namespace worker
