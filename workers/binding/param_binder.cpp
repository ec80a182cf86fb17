#include "workers/binding/param_binder.hpp"

#include <algorithm>

#include "sweeps/spec/file_digest.hpp"

namespace worker {

const sweep::Value* ParamBinder::value_of(const std::string& key) const {
  const auto found = values_.find(key);
  if (found != values_.end()) return &found->second;
  const auto fact = facts_.find(key);
  return fact != facts_.end() ? &fact->second : nullptr;
}

const Key* ParamBinder::counting(std::string_view key) const {
  return table_.counting(key, [this](const std::string& other) { return value_of(other); });
}

/// The row that counts, and otherwise the first. Throws when one counts that must be given and is
/// not.
const Key& ParamBinder::key_of(const std::string& key) const {
  const Key* counts = counting(key);
  if (counts == nullptr) return table_.first_row(key);
  if (counts->row.fallback.kind == Default::Kind::required && !has(key)) {
    const std::string where =
        counts->where.reasons([this](const std::string& other) { return value_of(other); });
    require(key, where.empty() ? "" : "; it must be given where " + where);
  }
  return *counts;
}

template <class T>
T ParamBinder::fallback(const Key& key, const std::optional<T>& computed) const {
  if (key.fallback && !computed) return std::get<T>(*key.fallback);
  return computed.value_or(T{});
}

template <class T>
T ParamBinder::keep(const Key& key, T value) {
  const bool has_default = key.row.fallback.kind == Default::Kind::value ||
                           key.row.fallback.kind == Default::Kind::computed;
  if (has_default || has(key.row.name)) values_[key.row.name] = value;
  return value;
}

bool ParamBinder::boolean(const std::string& key, std::optional<bool> computed) {
  const Key& row = key_of(key);
  return keep(row, reader_.boolean(key, fallback(row, computed)));
}

std::int64_t ParamBinder::integer(const std::string& key, std::optional<std::int64_t> computed) {
  const Key& row = key_of(key);
  const auto [min, max] = std::get<Whole>(row.row.type);
  return keep(row, reader_.integer(key, fallback(row, computed), min, max));
}

double ParamBinder::number(const std::string& key) {
  const Key& row = key_of(key);
  const auto [min, max] = std::get<Real>(row.row.type);
  return keep(row, reader_.number(key, fallback<double>(row, {}), min, max));
}

std::string ParamBinder::text(const std::string& key, const std::string& computed) {
  const Key& row = key_of(key);
  const auto* choices = std::get_if<OneOf>(&row.row.type);
  const std::string usual =
      fallback(row, computed.empty() ? std::nullopt : std::optional(computed));
  return keep(row, choices != nullptr ? reader_.choice(key, usual, choices->words)
                                      : reader_.text(key, usual));
}

std::string ParamBinder::unrecorded_text(const std::string& key) {
  return reader_.text(key, fallback<std::string>(key_of(key), {}));
}

double ParamBinder::unrecorded_number(const std::string& key) {
  const Key& row = key_of(key);
  const auto [min, max] = std::get<Real>(row.row.type);
  return reader_.number(key, fallback<double>(row, {}), min, max);
}

std::optional<int> ParamBinder::optional_small(const std::string& key) {
  const int value = small(key);
  return has(key) ? std::optional(value) : std::nullopt;
}

std::optional<double> ParamBinder::optional_number(const std::string& key) {
  const double value = number(key);
  return has(key) ? std::optional(value) : std::nullopt;
}

void ParamBinder::refuse(const std::string& key, const std::string& message) const {
  throw sweep::SpecError(sweep::to_text(reader_.where(key)) + ": " + key + ' ' + message);
}

/// Behind "names no file": where it was looked for, if that is not what is written.
void ParamBinder::fail_path(const std::string& key, const char* problem,
                            const std::string& path) const {
  const sweep::Value* written = value_of(key);
  const bool differs = written == nullptr || !sweep::same_value(*written, path);
  reader_.fail(key, problem + (differs ? ": there is no " + path : ""));
}

/// A file's paths count from the file; line 0 means the command line.
std::string ParamBinder::path_of(const std::string& key) {
  const std::string path = text(key);
  if (path.empty()) return path;
  const sweep::Location where = reader_.where(key);
  const auto base = where.line > 0 ? std::filesystem::path(where.file.text()).parent_path()
                                   : std::filesystem::path();
  return (base / path).lexically_normal().string();
}

std::string ParamBinder::folder(const std::string& key) {
  const std::string path = path_of(key);
  if (!path.empty() && !std::filesystem::is_directory(path))
    fail_path(key, "names no folder", path);
  return path;
}

std::string ParamBinder::file(const std::string& key) {
  const std::string path = path_of(key);
  if (path.empty()) return path;
  if (!std::filesystem::is_regular_file(path)) fail_path(key, "names no file", path);
  record(key + ".sha256", sweep::sha256_of_file(path));
  return path;
}

std::string ParamBinder::file_or_folder(const std::string& key) {
  const std::string path = path_of(key);
  if (path.empty() || !std::filesystem::is_directory(path)) return file(key);
  record(key + ".sha256", sweep::sha256_of_folder(path));
  return path;
}

/// What others call the rate at which jobs arrive.
static bool is_rate(const std::string& key) {
  constexpr std::array<std::string_view, 5> kNames = {"rate", "arrival_rate", "request_rate", "rps",
                                                      "qps"};
  return std::ranges::find(kNames, key.substr(key.rfind('.') + 1)) != kNames.end();
}

void ParamBinder::reject_unknown() const {
  for (const auto& [key, param] : params_) {
    if (reader_.asked(key)) continue;
    if (!table_.has(key)) {
      if (is_rate(key)) refuse(key, "is no key (did you mean \"jps\"?)");
      continue;
    }
    const std::string where = table_.where_in_words(key);
    if (where.empty()) continue;
    // A key that counts may be this one with its unit, "gap_s".
    const auto meant = std::ranges::find_if(table_.names(), [&](const std::string& name) {
      return name.starts_with(key + '_') && reader_.asked(name) && counting(name) != nullptr;
    });
    const std::string hint = meant == table_.names().end() ? "" : sweep::suggestion(key, {*meant});
    refuse(key, "has no effect here" + hint + ": it counts where " + where);
  }
  reader_.reject_unknown();
}

std::map<std::string, sweep::Value> ParamBinder::identity() const {
  std::map<std::string, sweep::Value> identity = facts_;
  for (const auto& [name, value] : values_) {
    const Key* key = counting(name);
    if (key != nullptr && key->identifies(value)) identity.emplace(name, value);
  }
  return identity;
}

std::set<std::string> ParamBinder::counting() const {
  std::set<std::string> names;
  for (const auto& [name, param] : params_)
    if (reader_.asked(name) && counting(name) != nullptr) names.insert(name);
  return names;
}

}  // namespace worker
