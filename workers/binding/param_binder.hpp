#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/definition/params.hpp"
#include "workers/binding/keys.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {

/// Takes typed values out of a cell's parameters. The key table gives type, range and default, the
/// member of `config` that has the value, and which values are part of the cell's identity. The
/// caller passes defaults that the table calls computed; a key whose condition names one is taken
/// after it. All functions throw sweep::SpecError at the value's place.
class ParamBinder {
 public:
  /// `document` is named in messages about missing keys. `table` must outlive this.
  explicit ParamBinder(std::string document, const KeyTable& table = sweep_keys())
      : document_(std::move(document)), table_(table), slots_(table.names().size()) {}
  /// Gives all of `params`, which must outlive this.
  ParamBinder(const sweep::ParamMap& params, const std::string& document,
              const KeyTable& table = sweep_keys());

  ExperimentConfig config;

  /// The cell's value of a key, unless it was given before. `param` must outlive this.
  void give(const std::string& key, const sweep::Param& param);
  bool has(const std::string& key) const { return given(key) != nullptr; }
  /// Throws if the key is missing; `why` is appended to the message.
  void require(const std::string& key, const std::string& why) const;
  /// "<place>: <key> <problem>, found <value>"
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
  /// Throws at the key's place, without the value: for messages that name it.
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;
  /// Refuses keys that are not in the table, and those that were not taken.
  void reject_unknown();

  /// Takes every key that has a member and was not taken, except those that only another workload
  /// or plugin would use.
  void take_all();
  bool boolean(std::string_view key, std::optional<bool> computed = {}) {
    return take<bool>(key, computed);
  }
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> computed = {}) {
    return take<std::int64_t>(key, computed);
  }
  int small(std::string_view key, std::optional<std::int64_t> computed = {}) {
    return static_cast<int>(integer(key, computed));
  }
  double number(std::string_view key) { return take<double>(key, {}); }
  /// A key whose value is any text, one of several words, or a profile's name.
  std::string text(std::string_view key, std::optional<std::string> computed = {}) {
    return take<std::string>(key, std::move(computed));
  }
  /// A value of any type.
  sweep::Value value(std::string_view key) { return take_value(number_of(key), nullptr); }
  /// The value of a key by itself, whatever the table says; the caller must record() it.
  const sweep::Value& free(const std::string& key);
  bool asked(const std::string& key) const { return slot_of(key).asked; }

  /// A path, made absolute; empty when absent. The identity has the digest of the file's content
  /// instead of the path.
  std::string file(const std::string& key);
  /// Accepts a folder of files, too.
  std::string file_or_folder(const std::string& key);
  /// A folder, whose content the caller must record().
  std::string folder(const std::string& key);

  /// The profile that the key names. Refuses an unknown name at its place.
  template <class Profile, class Profiles>
  Profile profile(const std::string& key, Profiles& profiles,
                  const Profile& (Profiles::*load)(const std::string& name)) {
    const std::string name = text(key);
    try {
      return (profiles.*load)(name);
    } catch (const std::runtime_error& error) {
      throw sweep::SpecError(has(key) ? sweep::to_text(where(key)) + ": " + error.what()
                                      : error.what());
    }
  }

  /// Adds a part of the identity that is not a key.
  void record(const std::string& key, sweep::Value value) { facts_[key] = std::move(value); }
  /// The part "backend". A server gets no key of another backend unless it is asked for one.
  void record_backend(const std::string& backend) {
    config.backend = backend;
    backend_ = &(facts_["backend"] = backend);
  }
  /// The recorded parts, and the values taken that count.
  std::map<std::string, sweep::Value> identity();
  /// The keys given that count, whatever their values; behind identity().
  std::set<std::string> counting() const;

 private:
  /// A key while it is bound.
  struct Slot {
    const sweep::Param* given = nullptr;
    std::optional<sweep::Value> value = {};
    bool taken = false;   // or being taken: a condition may look at its own key
    bool asked = false;   // the value, if it was given, was read
    bool counts = false;  // behind identity()
  };

  std::size_t number_of(std::string_view key) const;
  const Slot& slot_of(const std::string& key) const;
  const sweep::Param* given(const std::string& key) const { return slot_of(key).given; }
  sweep::Location where(const std::string& key) const;
  template <class T>
  T take(std::string_view key, std::optional<T> computed) {
    if (!computed) return std::get<T>(take_value(number_of(key), nullptr));
    const sweep::Value usual = std::move(*computed);
    return std::get<T>(take_value(number_of(key), &usual));
  }
  /// `computed`: the default, where the table does not say it. Valid until another key is taken.
  const sweep::Value& take_value(std::size_t number, const sweep::Value* computed);
  const sweep::Value& take_row(std::size_t number, const Key* counts, const sweep::Value* computed);
  bool is_bound_here(std::size_t number) const;
  /// Takes the key if nothing but the table decides its default.
  const sweep::Value* value_of(std::size_t number);
  const Key* counting(std::size_t number) {
    return table_.counting(number, [this](std::size_t other) { return value_of(other); });
  }
  void require_row(const Key& row);
  std::string path_of(const std::string& key);
  [[noreturn]] void fail_path(const std::string& key, const char* problem, const std::string& path);

  std::string document_;
  const KeyTable& table_;
  std::vector<Slot> slots_;           // by the table's numbers
  std::map<std::string, Slot> free_;  // given, and not in the table
  std::map<std::string, sweep::Value> facts_;
  sweep::Value absent_;  // what a key that is not given stands for, where that is no value of it
  const sweep::Value* backend_ = nullptr;  // of facts_
};

}  // namespace worker
