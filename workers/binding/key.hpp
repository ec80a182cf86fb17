#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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

// Types of a key's value.
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

/// The value of a key that is not given.
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
  /// Cells with this value omit the key from their identity, so adding the key changes no earlier
  /// cell's identity.
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
  /// Whether the value enters the identity, where the row counts.
  bool identifies(const sweep::Value& value) const;
};

}  // namespace worker
