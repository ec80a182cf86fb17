#include "analysis/compare/config.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "sweeps/archive/errors.hpp"

namespace analysis {
namespace {

/// Reads one line of canonical JSON from front to back.
class ConfigParser {
 public:
  explicit ConfigParser(std::string_view text) : left_(text) {}

  Config object() {
    Config config;
    expect('{');
    while (!take('}')) {
      if (!config.empty()) expect(',');
      const std::string key = string();
      expect(':');
      if (!config.add(key, value())) fail();
    }
    if (!left_.empty()) fail();
    config.shrink_to_fit();
    return config;
  }

 private:
  [[noreturn]] static void fail() {
    throw sweep::ArchiveDamaged("the configuration of a cell is not an object of scalars");
  }
  bool take(char wanted) {
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail();
  }
  char next() {
    if (left_.empty()) fail();
    const char first = left_.front();
    left_.remove_prefix(1);
    return first;
  }
  bool take_word(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  std::string string() {
    expect('"');
    std::string text;
    while (!take('"')) {
      const char c = next();
      text += c == '\\' ? escaped() : c;
    }
    return text;
  }

  /// Canonical JSON escapes quotes, backslashes and, as \u00xx, control characters.
  char escaped() {
    const char c = next();
    if (c == '"' || c == '\\') return c;
    if (c != 'u' || left_.size() < 4) fail();
    unsigned code = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + 4, code, 16);
    if (error != std::errc() || end != left_.data() + 4 || code > 0x1F) fail();
    left_.remove_prefix(4);
    return static_cast<char>(code);
  }

  sweep::Value value() {
    if (!left_.empty() && left_.front() == '"') return string();
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    return number();
  }

  sweep::Value number() {
    const std::string_view text = left_.substr(0, left_.find_first_of(",}"));
    left_.remove_prefix(text.size());
    const char* const end = text.data() + text.size();
    std::int64_t integer = 0;
    const auto whole = std::from_chars(text.data(), end, integer);
    if (whole.ec == std::errc() && whole.ptr == end) return integer;
    double real = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, real);
    if (error != std::errc() || stop != end || text.empty()) fail();
    return real;
  }

  std::string_view left_;
};

bool same(const std::optional<sweep::Value>& a, const std::optional<sweep::Value>& b) {
  return a.has_value() == b.has_value() && (!a || sweep::same_value(*a, *b));
}

std::optional<sweep::Value> find(const Config& config, const std::string& key) {
  const sweep::Value* found = config.find(key);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace

FiguresKind kind_of(const ConfiguredCell& cell) {
  if (cell.record->backend == "server")
    return {"server", shown(cell.value("server.kind")) + ' ' + shown(cell.value("server.version")),
            "-"};
  return {cell.record->backend, shown(cell.value("sim.cost_model")),
          shown(cell.value("engine.emulate"))};
}

std::string to_text(const FiguresKind& kind) {
  std::string text = (kind.backend == "sim" ? "MODELLED (" : "MEASURED (") + kind.backend;
  if (kind.cost_model != "-") text += ", " + kind.cost_model;
  if (kind.emulate != "-") text += ", pool of " + kind.emulate;
  return text + ')';
}

/// Of the first setting whose key is not before this one.
std::size_t Config::place_of(std::string_view key) const {
  const auto before = [](const Setting& setting, std::string_view each) {
    return setting.first.text() < each;
  };
  // Keys come in order.
  if (!settings_.empty() && before(settings_.back(), key)) return settings_.size();
  const auto place = std::lower_bound(settings_.begin(), settings_.end(), key, before);
  return static_cast<std::size_t>(place - settings_.begin());
}

const sweep::Value* Config::find(std::string_view key) const {
  const std::size_t place = place_of(key);
  const bool found = place < settings_.size() && settings_[place].first == key;
  return found ? &settings_[place].second : nullptr;
}

bool Config::add(std::string_view key, sweep::Value value) {
  if (contains(key)) return false;
  const auto place = settings_.begin() + static_cast<std::ptrdiff_t>(place_of(key));
  settings_.emplace(place, key, std::move(value));
  return true;
}

Config parse_config(const std::string& canonical_json) {
  return ConfigParser(canonical_json).object();
}

std::vector<ConfigDifference> config_differences(const Config& a, const Config& b) {
  std::set<std::string> keys;
  for (const Config* config : {&a, &b}) {
    for (const auto& [key, value] : *config) keys.insert(key);
  }
  std::vector<ConfigDifference> differences;
  for (const std::string& key : keys) {
    ConfigDifference difference{key, find(a, key), find(b, key)};
    if (!same(difference.a, difference.b)) differences.push_back(std::move(difference));
  }
  return differences;
}

std::string shown(const std::optional<sweep::Value>& value) {
  if (!value) return "-";
  return sweep::bare_text(*value);
}

double number_of(const std::optional<sweep::Value>& value) {
  if (!value) return sweep::kNotObserved;
  if (const auto* real = std::get_if<double>(&*value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&*value))
    return static_cast<double>(*integer);
  return sweep::kNotObserved;
}

ConfiguredCell::ConfiguredCell(const sweep::CellRecord& cell)
    : record(&cell), config(parse_config(cell.config_json)) {}

std::optional<sweep::Value> ConfiguredCell::value(const std::string& key) const {
  if (key == "policy") {
    for (const sweep::Note& note : record->notes)
      if (note.name == key) return note.text;
  }
  return written(key);
}

std::optional<sweep::Value> ConfiguredCell::written(const std::string& key) const {
  // The column of an axis that some cells lack is floating point; the configuration has the value
  // as written.
  if (const auto written = find(config, key)) return written;
  if (const sweep::Value* value = sweep::value_on(record->axes, key)) return *value;
  if (key == "server.profile" && record->backend == "server") return written("policy");
  return std::nullopt;
}

const sweep::Figure* ConfiguredCell::find_figure(std::string_view name) const {
  const sweep::Figure* stored = sweep::find_named(record->figures, name);
  return stored != nullptr ? stored : sweep::find_named(derived, name);
}

double ConfiguredCell::figure(std::string_view name) const {
  const sweep::Figure* found = find_figure(name);
  return found == nullptr ? sweep::kNotObserved : found->value;
}

bool is_reference(const ConfiguredCell& cell) {
  return std::ranges::any_of(cell.config, [](const auto& setting) {
    const auto* text = std::get_if<std::string>(&setting.second);
    return text != nullptr && *text == "oracle" && setting.first.text().starts_with("policy.");
  });
}

std::string known_metric(const std::vector<ConfiguredCell>& cells, const std::string& name) {
  std::set<std::string> names;
  for (const ConfiguredCell& cell : cells) {
    for (const auto* figures : {&cell.record->figures, &cell.derived})
      for (const sweep::Figure& figure : *figures) names.insert(figure.name);
  }
  for (const std::string& candidate : {name, name + "_mean_s"}) {
    if (names.contains(candidate)) return candidate;
  }
  // Of equally near names a mean of whole jobs is meant, then another mean.
  std::vector<std::string> nearest(names.begin(), names.end());
  std::ranges::stable_sort(nearest, {}, [](const std::string& each) {
    if (each == "jct_wall_mean_s") return 0;
    return each.ends_with("_mean_s") ? 1 : each.starts_with("jct_wall_") ? 2 : 3;
  });
  if (names.empty()) throw std::invalid_argument("no chosen cell has a result");
  throw std::invalid_argument("no cell with a result has the figure \"" + name + '"' +
                              sweep::suggestion(name, nearest) + "; there are " +
                              sweep::joined(names));
}

}  // namespace analysis
