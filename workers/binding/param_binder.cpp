#include "workers/binding/param_binder.hpp"

#include <algorithm>

#include "sweeps/spec/file_digest.hpp"

namespace worker {

namespace {

/// Keys of one kind of workload or of plugins: beside another they are an error.
bool must_count(const std::string& key) {
  return key == "jps" || key.starts_with("workload.") || key.starts_with("policy.plugin");
}

/// What a key of the type is where it is neither given nor has a default.
const sweep::Value& nothing(const KeyType& type) {
  static const sweep::Value kFlag = false, kWhole = std::int64_t{0}, kReal = 0.0,
                            kText = std::string();
  if (std::holds_alternative<Flag>(type)) return kFlag;
  if (std::holds_alternative<Whole>(type)) return kWhole;
  return std::holds_alternative<Real>(type) ? kReal : kText;
}

bool has_value(const Key& key) {
  return key.fallback.kind == Default::Kind::value || key.fallback.kind == Default::Kind::computed;
}

}  // namespace

bool ParamBinder::is_bound_here(const std::string& key) const {
  return !on_server_ || key == "jps" || key.starts_with("workload.") || key.starts_with("server.");
}

const sweep::Value* ParamBinder::value_of(const std::string& key) {
  if (backend_ != nullptr && key == "backend") return backend_;
  const auto find = [&]() -> const sweep::Value* {
    const auto found = values_.find(key);
    return found != values_.end() ? &found->second : nullptr;
  };
  if (const sweep::Value* value = find()) return value;
  const auto fact = facts_.find(key);
  if (fact != facts_.end()) return &fact->second;
  // A condition may look at its own key, or two at each other's: the first to be taken counts.
  if (!table_.has(key) || taken_.contains(key) || !is_bound_here(key)) return nullptr;
  const Key& row = table_.first_row(key);
  const bool is_path =
      std::holds_alternative<FilePath>(row.type) || std::holds_alternative<FolderPath>(row.type);
  if (is_path || row.fallback.kind == Default::Kind::computed) return nullptr;
  take_value(key, nullptr);
  return find();
}

const Key* ParamBinder::counting(std::string_view key) {
  return table_.counting(key, [this](const std::string& other) { return value_of(other); });
}

/// The row that counts, and otherwise the first. Throws when one counts that must be given and is
/// not.
const Key& ParamBinder::row_of(const std::string& key, const Key* counts) {
  if (counts == nullptr) return table_.first_row(key);
  if (counts->fallback.kind == Default::Kind::required && !has(key)) {
    const std::string where =
        reasons(counts->where, [this](const std::string& other) { return value_of(other); });
    require(key, where.empty() ? "" : "; it must be given where " + where);
  }
  return *counts;
}

sweep::Value ParamBinder::read(const Key& key, const sweep::Value& usual) {
  const std::string& name = key.name;
  if (std::holds_alternative<Flag>(key.type)) return reader_.boolean(name, std::get<bool>(usual));
  if (const auto* whole = std::get_if<Whole>(&key.type))
    return reader_.integer(name, std::get<std::int64_t>(usual), whole->min, whole->max);
  if (const auto* real = std::get_if<Real>(&key.type))
    return reader_.number(name, std::get<double>(usual), real->min, real->max);
  const auto* choices = std::get_if<OneOf>(&key.type);
  const std::string& text = std::get<std::string>(usual);
  return choices != nullptr ? reader_.choice(name, text, choices->words) : reader_.text(name, text);
}

const sweep::Value& ParamBinder::take_value(const std::string& key, const sweep::Value* computed) {
  taken_.insert(table_.first_row(key).name);
  return take_row(key, counting(key), computed);
}

const sweep::Value& ParamBinder::take_row(const std::string& key, const Key* counts,
                                          const sweep::Value* computed) {
  const Key& row = row_of(key, counts);
  if (computed == nullptr) computed = row.usual ? &*row.usual : &nothing(row.type);
  const bool given = has(key);
  if (!given && !has_value(row)) return absent_ = read(row, *computed);
  const sweep::Value& value = values_[row.name] = read(row, *computed);
  if (counts != nullptr && row.store != nullptr) row.store(config, value);
  return value;
}

void ParamBinder::take_all() {
  for (const std::string& name : table_.names()) {
    const Key& first = table_.first_row(name);
    if (first.store == nullptr || !is_bound_here(name) || !taken_.insert(first.name).second)
      continue;
    const Key* counts = counting(name);
    if (counts != nullptr || (has(name) && !must_count(name)))
      take_row(name, counts, nullptr);
    else if (!must_count(name))
      taken_.erase(first.name);  // a condition may ask for its default
  }
}

void ParamBinder::refuse(const std::string& key, const std::string& message) const {
  throw sweep::SpecError(sweep::to_text(reader_.where(key)) + ": " + key + ' ' + message);
}

/// Behind "names no file": where it was looked for, if that is not what is written.
void ParamBinder::fail_path(const std::string& key, const char* problem, const std::string& path) {
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

void ParamBinder::reject_unknown() {
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

std::map<std::string, sweep::Value> ParamBinder::identity() {
  std::map<std::string, sweep::Value> identity = facts_;
  for (const auto& [name, value] : values_) {
    const Key* key = counting(name);
    if (key == nullptr) continue;
    counting_.insert(name);
    if (key->identifies(value)) identity.emplace(name, value);
  }
  return identity;
}

std::set<std::string> ParamBinder::counting() {
  std::set<std::string> names;
  for (const auto& [name, param] : params_)
    if (counting_.contains(name)) names.insert(name);
  return names;
}

}  // namespace worker
