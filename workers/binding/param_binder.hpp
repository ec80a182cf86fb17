#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "sweeps/spec/params.hpp"
#include "workers/binding/keys.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {

/// Takes typed values out of a cell's parameters: the key table says type, range and default, and
/// what of them is the cell's identity. A default that the table calls computed is passed in. Keys
/// in another key's condition must be taken first where that key has several rows. All functions
/// throw sweep::SpecError at the value's place.
class ParamBinder {
 public:
  /// `document` is what lacks a key that is missing. `params` and `table` must outlive this.
  ParamBinder(const sweep::ParamMap& params, const std::string& document,
              const KeyTable& table = sweep_keys())
      : params_(params), table_(table), reader_(params, document, &table.names()) {}

  bool has(const std::string& key) const { return reader_.has(key); }
  /// The key must be there; `why` stands behind the message that it is missing.
  void require(const std::string& key, const std::string& why = "") const {
    reader_.require(key, why);
  }
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    reader_.fail(key, problem);
  }
  /// Refuses keys that are not in the table, and those that were not taken.
  void reject_unknown() const;

  bool boolean(const std::string& key, std::optional<bool> computed = {});
  std::int64_t integer(const std::string& key, std::optional<std::int64_t> computed = {});
  int small(const std::string& key, std::optional<std::int64_t> computed = {}) {
    return static_cast<int>(integer(key, computed));
  }
  double number(const std::string& key);
  /// Of any text, one of several words, or a profile's name.
  std::string text(const std::string& key, const std::string& computed = "");
  /// Absent means something else than any value.
  std::optional<int> optional_small(const std::string& key);
  std::optional<double> optional_number(const std::string& key);

  /// A path, made absolute; empty when absent. What counts is the file's content, so that its
  /// digest is recorded.
  std::string file(const std::string& key);
  /// The same for a folder; what it holds is the caller's to record.
  std::string folder(const std::string& key);

  /// What `load` makes of a profile's name. An unknown name is refused at its place.
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

  /// Something of the identity that is no key.
  void record(const std::string& key, sweep::Value value) { facts_[key] = std::move(value); }
  /// What was recorded, and the values taken that count.
  std::map<std::string, sweep::Value> identity() const;
  /// The keys given that count, whatever their values.
  std::set<std::string> counting() const;

 private:
  const sweep::Value* value_of(const std::string& key) const;
  const Key* counting(const std::string& key) const;
  const Key& key_of(const std::string& key) const;
  std::string path_of(const std::string& key);
  template <class T>
  T fallback(const Key& key, const std::optional<T>& computed) const;
  template <class T>
  T keep(const Key& key, T value);

  const sweep::ParamMap& params_;
  const KeyTable& table_;
  sweep::ParamReader reader_;
  std::map<std::string, sweep::Value> values_, facts_;
};

}  // namespace worker
