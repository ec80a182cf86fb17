#pragma once
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sweeps/spec/params.hpp"
#include "workers/binding/keys.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {

/// Takes typed values out of a cell's parameters. The key table gives type, range and default, and
/// which values are part of the cell's identity. The caller passes defaults that the table calls
/// computed. If a key has several rows, the keys in their conditions must be taken first. All
/// functions throw sweep::SpecError at the value's place.
class ParamBinder {
 public:
  /// `document` is named in messages about missing keys. `params` and `table` must outlive this.
  ParamBinder(const sweep::ParamMap& params, const std::string& document,
              const KeyTable& table = sweep_keys())
      : params_(params), table_(table), reader_(params, document, &table.names()) {
    values_.reserve(table.names().size());
  }

  bool has(const std::string& key) const { return reader_.has(key); }
  /// Throws if the key is missing; `why` is appended to the message.
  void require(const std::string& key, const std::string& why = "") const {
    reader_.require(key, why);
  }
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    reader_.fail(key, problem);
  }
  /// Throws at the key's place, without the value: for messages that name it.
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;
  /// Refuses keys that are not in the table, and those that were not taken.
  void reject_unknown() const;

  bool boolean(const std::string& key, std::optional<bool> computed = {});
  std::int64_t integer(const std::string& key, std::optional<std::int64_t> computed = {});
  int small(const std::string& key, std::optional<std::int64_t> computed = {}) {
    return static_cast<int>(integer(key, computed));
  }
  double number(const std::string& key);
  /// A key whose value is any text, one of several words, or a profile's name.
  std::string text(const std::string& key, const std::string& computed = "");
  /// A key that is no part of the identity, or whose record() differs from what is written.
  std::string unrecorded_text(const std::string& key);
  double unrecorded_number(const std::string& key);
  /// The value of a key that is not in the table; the caller must record() it.
  const sweep::Value& free(const std::string& key) { return reader_.value(key); }
  bool asked(const std::string& key) const { return reader_.asked(key); }
  /// For keys whose absence means something that no value does.
  std::optional<int> optional_small(const std::string& key);
  std::optional<double> optional_number(const std::string& key);

  /// A path, made absolute; empty when absent. The identity has the digest of the file's content
  /// instead of the path.
  std::string file(const std::string& key);
  /// The same for a file or a folder of files.
  std::string file_or_folder(const std::string& key);
  /// The same for a folder, but the caller must record() its content.
  std::string folder(const std::string& key);

  /// Returns load(name) for the profile that the key names. Refuses an unknown name at its place.
  template <class Load>
  auto profile(const std::string& key, Load load) {
    const std::string name = text(key);
    try {
      return load(name);
    } catch (const std::runtime_error& error) {
      throw sweep::SpecError(has(key) ? sweep::to_text(reader_.where(key)) + ": " + error.what()
                                      : error.what());
    }
  }

  /// Adds a part of the identity that is not a key.
  void record(const std::string& key, sweep::Value value) { facts_[key] = std::move(value); }
  /// The recorded parts, and the values taken that count.
  std::map<std::string, sweep::Value> identity() const;
  /// The keys given that count, whatever their values.
  std::set<std::string> counting() const;

 private:
  const sweep::Value* value_of(const std::string& key) const;
  const Key* counting(std::string_view key) const;
  const Key& key_of(const std::string& key) const;
  std::string path_of(const std::string& key);
  [[noreturn]] void fail_path(const std::string& key, const char* problem,
                              const std::string& path) const;
  template <class T>
  T fallback(const Key& key, const std::optional<T>& computed) const;
  template <class T>
  T keep(const Key& key, T value);

  const sweep::ParamMap& params_;
  const KeyTable& table_;
  sweep::ParamReader reader_;
  // Of values taken, by the table's names: looked up for each condition of a key. A cell has some
  // hundred, which come and go together.
  std::array<std::byte, 1 << 14> space_;
  std::pmr::monotonic_buffer_resource memory_{space_.data(), space_.size()};
  std::pmr::unordered_map<std::string_view, sweep::Value, NameHash> values_{256, &memory_};
  std::map<std::string, sweep::Value> facts_;
};

}  // namespace worker
