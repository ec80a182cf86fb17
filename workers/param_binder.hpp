#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/params.hpp"
#include "workers/engine/errors.hpp"

namespace worker {

/// Takes typed values out of a cell's parameters and keeps every effective one, defaults included.
/// All functions throw sweep::SpecError at the value's place.
class ParamBinder {
 public:
  /// `document` is what lacks a key that is missing.
  ParamBinder(const sweep::ParamMap& params, const std::string& document)
      : params_(params), reader_(params, document) {}

  bool has(const std::string& key) const { return reader_.has(key); }
  void require(const std::string& key) const { reader_.require(key); }
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    reader_.fail(key, problem);
  }
  void reject_unknown() const { reader_.reject_unknown(); }

  bool boolean(const std::string& key, bool fallback) {
    return keep(key, reader_.boolean(key, fallback));
  }
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                       std::int64_t max) {
    return keep(key, reader_.integer(key, fallback, min, max));
  }
  int small(const std::string& key, int fallback, int min, int max) {
    return static_cast<int>(integer(key, fallback, min, max));
  }
  double number(const std::string& key, double fallback, double min, double max) {
    return keep(key, reader_.number(key, fallback, min, max));
  }
  std::string text(const std::string& key, const std::string& fallback) {
    return keep(key, reader_.text(key, fallback));
  }
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& allowed) {
    return keep(key, reader_.choice(key, fallback, allowed));
  }
  /// The key is allowed, and makes no difference.
  void ignore(const std::string& key) { reader_.number(key, 0, 0, 1e6); }
  /// Absent means something else than any value.
  std::optional<int> optional_small(const std::string& key, int min, int max);
  std::optional<double> optional_number(const std::string& key, double min, double max);

  /// A path, made absolute; empty when absent. What counts is the file's content, so nothing is
  /// kept.
  std::string file(const std::string& key);
  /// The same for a folder; what it holds is the caller's to record.
  std::string folder(const std::string& key);

  /// What `load` makes of a profile's name. An unknown name is refused at its place.
  template <class Load>
  auto profile(const std::string& key, const std::string& fallback, Load load) {
    const std::string name = text(key, fallback);
    try {
      return load(name);
    } catch (const std::runtime_error& error) {
      throw sweep::SpecError(has(key) ? sweep::to_text(reader_.where(key)) + ": " + error.what()
                                      : error.what());
    }
  }

  /// These values were read, but make no difference.
  void forget(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) identity_.erase(key);
  }
  void record(const std::string& key, sweep::Value value) { identity_[key] = std::move(value); }
  std::map<std::string, sweep::Value> take_identity() { return std::move(identity_); }

 private:
  std::string absolute(const std::string& key, const std::string& path) const;
  template <class T>
  T keep(const std::string& key, T value) {
    record(key, value);
    return value;
  }

  const sweep::ParamMap& params_;
  sweep::ParamReader reader_;
  std::map<std::string, sweep::Value> identity_;
};

}  // namespace worker
