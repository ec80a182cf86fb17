#include "workers/binding/param_binder.hpp"

#include <algorithm>

#include "sweeps/definition/input_file.hpp"

namespace worker {

namespace {

/// Keys of one kind of workload or of plugins: beside another they are an error.
bool must_count(const std::string& key) {
  return key == "jps" || key.starts_with("workload.") || key.starts_with("policy.plugin");
}

/// The value of a key which is not given and has no default.
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

ParamBinder::ParamBinder(const sweep::ParamMap& params, const std::string& document,
                         const KeyTable& table)
    : ParamBinder(document, table) {
  for (const auto& [key, param] : params) give(key, param);
}

void ParamBinder::give(const std::string& key, const sweep::Param& param) {
  const std::size_t number = table_.number_of(key);
  Slot& slot = number == KeyTable::kUnknown ? free_[key] : slots_[number];
  if (slot.given == nullptr) slot.given = &param;
}

std::size_t ParamBinder::number_of(std::string_view key) const {
  const std::size_t number = table_.number_of(key);
  if (number == KeyTable::kUnknown) throw std::logic_error("no key: " + std::string(key));
  return number;
}

const ParamBinder::Slot& ParamBinder::slot_of(const std::string& key) const {
  static const Slot kNotGiven;
  const std::size_t number = table_.number_of(key);
  if (number != KeyTable::kUnknown) return slots_[number];
  const auto found = free_.find(key);
  return found == free_.end() ? kNotGiven : found->second;
}

sweep::Location ParamBinder::where(const std::string& key) const {
  const sweep::Param* param = given(key);
  return param == nullptr ? sweep::Location{document_, 0, 0} : param->where;
}

const sweep::Value& ParamBinder::free(const std::string& key) {
  const std::size_t number = table_.number_of(key);
  Slot& slot = number == KeyTable::kUnknown ? free_.at(key) : slots_[number];
  slot.asked = true;
  return slot.given->value;
}

bool ParamBinder::is_bound_here(std::size_t number) const {
  const std::string& key = table_.names()[number];
  return config.backend != "server" || key == "jps" || key.starts_with("workload.") ||
         key.starts_with("server.");
}

const sweep::Value* ParamBinder::value_of(std::size_t number) {
  if (number == table_.backend()) return backend_;
  const Slot& slot = slots_[number];
  if (slot.value) return &*slot.value;
  // A condition may look at its own key, or two at each other's: the first to be taken counts.
  if (slot.taken || !is_bound_here(number)) return nullptr;
  const Key& row = table_.first_row(number);
  if (row.is_path() || row.fallback.kind == Default::Kind::computed) return nullptr;
  take_value(number, nullptr);
  return slot.value ? &*slot.value : nullptr;
}

/// Throws when the row that counts must be given and is not.
void ParamBinder::require_row(const Key& row) {
  const std::string where =
      table_.reasons(row, [this](std::size_t other) { return value_of(other); });
  require(row.name, where.empty() ? "" : "; it must be given where " + where);
}

const sweep::Value& ParamBinder::take_value(std::size_t number, const sweep::Value* computed) {
  slots_[number].taken = true;
  return take_row(number, counting(number), computed);
}

/// The value by the row that counts, and otherwise by the first.
const sweep::Value& ParamBinder::take_row(std::size_t number, const Key* counts,
                                          const sweep::Value* computed) {
  Slot& slot = slots_[number];
  const Key& row = counts != nullptr ? *counts : table_.first_row(number);
  if (slot.given == nullptr && counts != nullptr && row.fallback.kind == Default::Kind::required)
    require_row(row);
  slot.asked = true;
  if (slot.given != nullptr)
    slot.value = row.checked(*slot.given);
  else if (computed != nullptr || row.fallback.value)
    slot.value = computed != nullptr ? *computed : *row.fallback.value;
  else
    slot.value = nothing(row.type);
  if (slot.given == nullptr && !has_value(row)) return absent_ = *std::exchange(slot.value, {});
  try {
    if (counts != nullptr && row.store != nullptr) row.store(config, *slot.value);
  } catch (const engine::InputError& error) {
    fail(row.name, error.what());
  }
  return *slot.value;
}

void ParamBinder::take_all() {
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    const std::string& name = table_.names()[number];
    if (table_.first_row(number).store == nullptr || slot.taken || !is_bound_here(number)) continue;
    slot.taken = true;
    const Key* counts = counting(number);
    if (counts != nullptr || (slot.given != nullptr && !must_count(name)))
      take_row(number, counts, nullptr);
    else
      slot.taken = must_count(name);  // otherwise a condition may ask for its default
  }
}

void ParamBinder::require(const std::string& key, const std::string& why) const {
  if (has(key)) return;
  std::vector<std::string> unknown;
  for (const auto& [name, slot] : free_)
    if (!slot.asked) unknown.push_back(name);
  sweep::fail_missing(document_, key, why, unknown);
}

void ParamBinder::fail(const std::string& key, const std::string& problem) const {
  if (const sweep::Param* param = given(key)) sweep::fail_value(key, *param, problem);
  refuse(key, problem);
}

void ParamBinder::refuse(const std::string& key, const std::string& message) const {
  throw sweep::SpecError(sweep::to_text(where(key)) + ": " + key + ' ' + message);
}

/// Behind "names no file": where it was looked for, if that is not what is written.
void ParamBinder::fail_path(const std::string& key, const char* problem, const std::string& path) {
  const bool differs = !sweep::same_value(given(key)->value, path);
  fail(key, problem + (differs ? ": there is no " + path : ""));
}

/// A file's paths count from the file; line 0 means the command line.
std::string ParamBinder::path_of(const std::string& key) {
  const std::string path = text(key);
  if (path.empty()) return path;
  const sweep::Location where = this->where(key);
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

/// Whether other tools call the arrival rate so.
static bool is_rate(const std::string& key) {
  constexpr std::array<std::string_view, 5> kNames = {"rate", "arrival_rate", "request_rate", "rps",
                                                      "qps"};
  return std::ranges::find(kNames, key.substr(key.rfind('.') + 1)) != kNames.end();
}

void ParamBinder::reject_unknown() {
  const auto reject_unused = [this](std::size_t number) {
    const Slot& slot = slots_[number];
    const std::string& key = table_.names()[number];
    if (slot.given == nullptr || slot.asked) return;
    const std::string where = table_.where_in_words(key);
    // A key that counts may be this one with its unit, "gap_s".
    const auto meant = std::ranges::find_if(table_.names(), [&](const std::string& name) {
      return name.starts_with(key + '_') && asked(name) && counting(number_of(name)) != nullptr;
    });
    const std::string hint = meant == table_.names().end() ? "" : sweep::suggestion(key, {*meant});
    if (where.empty()) sweep::fail_unknown(key, *slot.given, table_.names());
    refuse(key, "has no effect here" + hint + ": it counts where " + where);
  };
  for (std::size_t number = 0; number < slots_.size(); ++number) reject_unused(number);
  for (const auto& [key, slot] : free_) {
    if (slot.asked) continue;
    if (is_rate(key)) refuse(key, "is no key (did you mean \"jps\"?)");
    sweep::fail_unknown(key, *slot.given, table_.names());
  }
}

std::map<std::string, sweep::Value> ParamBinder::identity() {
  std::map<std::string, sweep::Value> identity = facts_;
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    const Key* key = slot.value ? counting(number) : nullptr;
    slot.counts = key != nullptr;
    if (slot.counts && key->identifies(*slot.value)) identity.emplace(key->name, *slot.value);
  }
  return identity;
}

std::set<std::string> ParamBinder::counting() const {
  std::set<std::string> names;
  for (std::size_t number = 0; number < slots_.size(); ++number)
    if (slots_[number].given != nullptr && slots_[number].counts)
      names.insert(names.end(), table_.names()[number]);
  return names;
}

}  // namespace worker
