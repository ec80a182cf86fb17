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

#include "sweeps/spec/params.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/policies/estimators/condition.hpp"

namespace worker {

using policies::Condition;

/// The value under a key, its default included; null where it has none.
using ValueOf = std::function<const sweep::Value*(const std::string& key)>;

bool holds(const Condition& condition, const ValueOf& value_of);
/// Ignores the clauses that look at `key` itself.
bool holds_beside(const std::string& key, const Condition& condition, const ValueOf& value_of);
/// Whether clauses about the backend alone rule this one out.
bool rules_out_backend(const Condition& condition, const std::string& backend);
/// "policy.retention is pin or infercept and engine.emulate is not set"; empty where the key always
/// counts.
std::string in_words(const Condition& condition);
/// The tests of a condition that hold, in words.
std::string reasons(const Condition& condition, const ValueOf& value_of);

/// Puts a key's value where an experiment has it.
using Store = void (*)(ExperimentConfig& config, const sweep::Value& value);

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
  std::vector<std::string> words;
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
    value,     // `text`, as TOML writes it, strings without quotes
    computed,  // depends on other values; `text` says how
  };
  Kind kind = Kind::required;
  std::string text = {};
  std::string neutral = {};  // the value at which a key is left out of a cell's identity: keys
                             // added with one leave the identity of other cells as it was
  bool identifies = true;    // false: the key is no part of a cell's identity
};
inline Default required() { return {}; }
inline Default optional(const char* meaning) { return {Default::Kind::optional, meaning}; }
inline Default value(const char* text) { return {Default::Kind::value, text}; }
inline Default neutral(const char* text) { return {Default::Kind::value, text, text}; }
inline Default computed(const char* how) { return {Default::Kind::computed, how}; }
inline Default no_identity(Default fallback) {
  fallback.identifies = false;
  return fallback;
}
inline const Condition kAlways;

/// Hashes names by their length and the eight bytes at each end, in which they differ.
struct NameHash {
  using is_transparent = void;
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
  /// The default and the neutral value, where they are values; the table reads them.
  std::optional<sweep::Value> usual{}, neutral{};
  /// What enters the identity, where the row counts.
  bool identifies(const sweep::Value& value) const;
};

/// Every key that a sweep file may set.
class KeyTable {
 public:
  explicit KeyTable(std::vector<Key> rows);

  /// In the order of the documentation.
  const std::vector<Key>& keys() const { return keys_; }
  /// Each name once, sorted.
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const { return by_name_.contains(name); }

  /// The row of `name` whose condition holds; null where none does.
  const Key* counting(std::string_view name, const ValueOf& value_of) const;
  /// The first row of `name`, which must be known.
  const Key& first_row(const std::string& name) const { return keys_[by_name_.at(name).front()]; }
  /// Whether some row of `name` counts, whatever its own value is; true for unknown names.
  bool may_count(const std::string& name, const ValueOf& value_of) const;
  /// The default of `name`; null where no value says it, or not the same one in every row.
  const sweep::Value* fallback(const std::string& name) const;
  /// Whether `backend` makes nothing of the key, whatever else is set.
  bool has_no_effect_on(const std::string& backend, const std::string& name) const;
  /// Where the key counts, over all its rows; empty: always.
  std::string where_in_words(const std::string& name) const;

 private:
  std::vector<Key> keys_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::vector<std::size_t>, NameHash, std::equal_to<>> by_name_;
};

/// The rows of kvsweep's own table.
std::vector<Key> sweep_key_rows();
/// The table of them.
const KeyTable& sweep_keys();

}  // namespace worker
