#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sweeps/spec/params.hpp"
#include "workers/binding/keys.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {

/// Takes typed values out of a cell's parameters. The key table gives type, range and default, the
/// member of `config` that has the value, and which values are part of the cell's identity. The
/// caller passes defaults that the table calls computed; a key whose condition names one is taken
/// after it. All functions throw sweep::SpecError at the value's place.
class ParamBinder {
 public:
  /// `document` is named in messages about missing keys. `params` and `table` must outlive this.
  ParamBinder(const sweep::ParamMap& params, const std::string& document,
              const KeyTable& table = sweep_keys())
      : params_(params), table_(table), reader_(params, document, &table.names()) {
    values_.reserve(table.names().size());
  }

  ExperimentConfig config;

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
  void reject_unknown();

  /// Takes every key that has a member and was not taken, except those that only another workload
  /// or plugin would use.
  void take_all();
  bool boolean(const std::string& key, std::optional<bool> computed = {}) {
    return take<bool>(key, computed);
  }
  std::int64_t integer(const std::string& key, std::optional<std::int64_t> computed = {}) {
    return take<std::int64_t>(key, computed);
  }
  int small(const std::string& key, std::optional<std::int64_t> computed = {}) {
    return static_cast<int>(integer(key, computed));
  }
  double number(const std::string& key) { return take<double>(key, {}); }
  /// A key whose value is any text, one of several words, or a profile's name.
  std::string text(const std::string& key, std::optional<std::string> computed = {}) {
    return take<std::string>(key, std::move(computed));
  }
  /// A value of any type.
  sweep::Value value(const std::string& key) { return take_value(key, nullptr); }
  /// The value of a key that is not in the table; the caller must record() it.
  const sweep::Value& free(const std::string& key) { return reader_.value(key); }
  bool asked(const std::string& key) const { return reader_.asked(key); }

  /// A path, made absolute; empty when absent. The identity has the digest of the file's content
  /// instead of the path.
  std::string file(const std::string& key);
  /// Accepts a folder of files, too.
  std::string file_or_folder(const std::string& key);
  /// A folder, whose content the caller must record().
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
  /// The part "backend". A server gets no key of another backend unless it is asked for one.
  void record_backend(const std::string& backend) {
    on_server_ = backend == "server";
    config.backend = backend;
    backend_ = &(facts_["backend"] = backend);
  }
  /// The recorded parts, and the values taken that count.
  std::map<std::string, sweep::Value> identity();
  /// The keys given that count, whatever their values; behind identity().
  std::set<std::string> counting();

 private:
  template <class T>
  T take(const std::string& key, std::optional<T> computed) {
    if (!computed) return std::get<T>(take_value(key, nullptr));
    const sweep::Value usual = std::move(*computed);
    return std::get<T>(take_value(key, &usual));
  }
  /// `computed`: the default, where the table does not say it. Valid until another key is taken.
  const sweep::Value& take_value(const std::string& key, const sweep::Value* computed);
  const sweep::Value& take_row(const std::string& key, const Key* counts,
                               const sweep::Value* computed);
  sweep::Value read(const Key& key, const sweep::Value& usual);
  bool is_bound_here(const std::string& key) const;
  /// Takes the key if nothing but the table decides its default.
  const sweep::Value* value_of(const std::string& key);
  const Key* counting(std::string_view key);
  const Key& row_of(const std::string& key, const Key* counts);
  std::string path_of(const std::string& key);
  [[noreturn]] void fail_path(const std::string& key, const char* problem, const std::string& path);

  const sweep::ParamMap& params_;
  const KeyTable& table_;
  sweep::ParamReader reader_;
  // The values taken, by the table's names: looked up for each condition of a key. A cell has some
  // hundred, which come and go together.
  std::array<std::byte, 1 << 14> space_;
  std::pmr::monotonic_buffer_resource memory_{space_.data(), space_.size()};
  std::pmr::unordered_map<std::string_view, sweep::Value, NameHash> values_{256, &memory_};
  std::pmr::unordered_set<std::string_view, NameHash> taken_{256, &memory_};
  std::pmr::unordered_set<std::string_view, NameHash> counting_{256, &memory_};  // with a value
  std::map<std::string, sweep::Value> facts_;
  sweep::Value absent_;  // what a key that is not given stands for, where that is no value of it
  const sweep::Value* backend_ = nullptr;  // of facts_, which most conditions look at
  bool on_server_ = false;
};

}  // namespace worker
