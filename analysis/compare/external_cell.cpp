#include "analysis/compare/external_cell.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/input_text.hpp"
#include "sweeps/files/strict_json.hpp"
#include "sweeps/spec/canonical_json.hpp"

namespace analysis {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "kvsweep-external";

/// One file; every error message names it.
class ExternalFile {
 public:
  explicit ExternalFile(const std::string& path) : path_(path) {
    constexpr std::size_t kMost = std::size_t{64} << 20;
    std::ifstream file(path, std::ios::binary);
    if (!file) throw sweep::FileError("open", path, errno);
    const std::string text = sweep::input_text<sweep::SpecError>(file, path, kMost);
    try {
      document_ = sweep::strict_json(text);
    } catch (const sweep::JsonRefused& refused) {
      fail(std::string("is no JSON: ") + refused.what());
    }
  }

  ExternalCell cell() const {
    check_format();
    ExternalCell found;
    found.file = std::filesystem::path(path_).filename().string();
    found.name = text("name");
    found.experiment = text("experiment");
    found.source = text("kind");
    if (!found.source.starts_with("MEASURED (") && !found.source.starts_with("MODELLED ("))
      fail("kind must begin with MEASURED ( or MODELLED (, found " + document_["kind"].dump());
    found.record.config_json = sweep::canonical_json(config());
    found.record.label = found.name;
    found.record.backend = "external";
    found.record.status = sweep::CellStatus::ok;
    const json figures = table("figures");
    for (const auto& [name, value] : figures.items())
      found.record.figures.push_back({name, number("figures." + name, value), ""});
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw sweep::SpecError(path_ + ": " + what);
  }

  json at(const char* key) const { return document_.value(key, json()); }

  void check_format() const {
    if (!document_.is_object() || at("format") != kFormat)
      fail(std::string("is no external result: format must be \"") + kFormat + '"');
    if (at("version") != 1) fail("version must be 1, found " + at("version").dump());
  }

  std::string text(const char* key) const {
    const json value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty())
      fail(std::string(key) + " must be a text that is not empty, found " + value.dump());
    return value.get<std::string>();
  }

  json table(const char* key) const {
    json value = at(key);
    if (!value.is_object() || value.empty())
      fail(std::string(key) + " must be a table that is not empty, found " + value.dump());
    return value;
  }

  double number(const std::string& key, const json& value) const {
    if (!value.is_number()) fail(key + " must be a number, found " + value.dump());
    return value.get<double>();
  }

  std::map<std::string, sweep::Value> config() const {
    std::map<std::string, sweep::Value> values;
    const json keys = table("config");
    for (const auto& [key, value] : keys.items()) {
      const auto scalar = as_scalar(value);
      if (!scalar)
        fail("config." + key + " must be a text, a number or a boolean, found " + value.dump());
      values[key] = *scalar;
    }
    return values;
  }

  static std::optional<sweep::Value> as_scalar(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
      return value.get<double>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_number()) return value.get<double>();
    return std::nullopt;
  }

  std::string path_;
  json document_;
};

}  // namespace

bool names_external(const std::string& path) {
  return std::filesystem::path(path).extension() == ".json";
}

ExternalCell load_external(const std::string& path) { return ExternalFile(path).cell(); }

}  // namespace analysis
