#pragma once
// Private to this room: typed values from a JSON object, with errors that name file and key.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace model {

/// The text of a file. Throws engine::InputError when it cannot be read.
std::string read_text(const std::filesystem::path& file);

/// Parses an object. `file` is for messages. Throws engine::InputError: not JSON, not an object.
nlohmann::json parse_object(const std::string& text, const std::string& file);

/// A value as written in the file, shortened when long.
std::string shown(const nlohmann::json& value);

/// Keys of one object. A key with the value null counts as absent. An absent key without a fallback
/// is an error. All errors are engine::InputError "FILE: KEY: found ..., allowed: ...".
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string file, std::string prefix = "")
      : object_(&object), file_(std::move(file)), prefix_(std::move(prefix)) {}

  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// An integer in [1, max].
  int count(const std::string& key, int max, std::optional<int> fallback = {}) const;
  /// A number in [min, max].
  double number(const std::string& key, double min, double max,
                std::optional<double> fallback = {}) const;
  bool boolean(const std::string& key, std::optional<bool> fallback = {}) const;
  std::string text(const std::string& key, std::optional<std::string> fallback = {}) const;
  JsonFields object(const std::string& key) const;
  const nlohmann::json& array(const std::string& key) const;

  /// Refuses any value of the key except `value`; an absent key is accepted.
  void only(const std::string& key, const nlohmann::json& value) const;
  /// Refuses the key whatever its value.
  void unsupported(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const;

 private:
  const nlohmann::json* find(const std::string& key) const;
  /// The value, or null when it is absent and has a fallback.
  const nlohmann::json* need(const std::string& key, bool has_fallback,
                             const std::string& allowed) const;

  const nlohmann::json* object_;  // must outlive the fields
  std::string file_;
  std::string prefix_;
};

}  // namespace model
