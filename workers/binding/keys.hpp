#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sweeps/definition/params.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/policies/estimators/condition.hpp"

namespace worker {

using policies::Condition;

/// "policy.retention is pin or infercept and engine.emulate is not set"; empty where the key always
/// counts.
std::string in_words(const Condition& condition);

/// Puts a key's value where an experiment has it. May throw engine::InputError: what is wrong with
/// the value, without its key.
using Store = std::function<void(ExperimentConfig& config, const sweep::Value& value)>;

// What a key holds.
struct Flag {};
struct Whole {
  std::int64_t min, max;
  const char* unit = "";
};
struct Real {
  double min, max;
  const char* unit = "";
};
struct AnyText {};
struct OneOf {
  std::vector<std::string> words = {};
  std::vector<std::string> (*names)() = nullptr;  // not null: gives the words to the table
};
/// The name of a file NAME.toml in this folder of profiles.
struct ProfileIn {
  const char* folder;
};
/// A path. The content is what counts, so that the path is no part of a cell's identity.
struct FilePath {};
struct FolderPath {};
using KeyType = std::variant<Flag, Whole, Real, AnyText, OneOf, ProfileIn, FilePath, FolderPath>;

inline constexpr std::int64_t kMostOf32Bits = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kMostOf64Bits = std::numeric_limits<std::int64_t>::max();

/// What holds where a key is not given.
struct Default {
  enum class Kind {
    required,  // it must be given wherever it counts
    optional,  // absence means something that no value says
    value,
    computed,  // depends on other values
  };
  Kind kind = Kind::required;
  std::string text = {};  // the value, what absence means, or how it is computed
  std::optional<sweep::Value> value = {};
  /// The value at which a key is left out of a cell's identity: keys added with one leave the
  /// identity of other cells as it was.
  std::optional<sweep::Value> neutral = {};
  bool identifies = true;  // false: the key is no part of a cell's identity
};
inline Default required() { return {}; }
inline Default optional(const char* meaning) { return {Default::Kind::optional, meaning}; }
Default value(const sweep::Value& value);
inline Default neutral(const sweep::Value& same) {
  Default fallback = value(same);
  fallback.neutral = same;
  return fallback;
}
inline Default computed(const char* how) { return {Default::Kind::computed, how}; }
inline Default no_identity(Default fallback) {
  fallback.identifies = false;
  return fallback;
}
inline const Condition kAlways;

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

/// One key of a sweep file as it counts under one condition. A name may have several rows; their
/// conditions exclude each other.
struct Key {
  std::string name;
  KeyType type;
  Default fallback;
  Condition where;
  std::string says;       // one sentence of documentation
  Store store = nullptr;  // null: binding takes the key by itself

  std::string unit() const;
  bool is_path() const;
  /// The value given, if the key allows it. Throws sweep::SpecError.
  sweep::Value checked(const sweep::Param& given) const;
  /// What enters the identity, where the row counts.
  bool identifies(const sweep::Value& value) const;
};

/// Every key that a sweep file may set. Names are numbered in alphabetical order, and behind them
/// stands the backend, at which conditions look as at a key.
class KeyTable {
 public:
  /// Of a name or the backend; null where it has no value.
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
