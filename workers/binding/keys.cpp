#include "workers/binding/keys.hpp"

#include <stdexcept>

#include "sweeps/definition/sweep.hpp"
#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

using policies::KeyTest;

std::string test_in_words(const KeyTest& test) {
  if (test.kind == KeyTest::Kind::set) return test.key + " is set";
  if (test.kind == KeyTest::Kind::unset) return test.key + " is not set";
  std::vector<std::string> words;
  for (const sweep::Value& each : test.values) words.push_back(sweep::bare_text(each));
  return test.key + (test.kind == KeyTest::Kind::equals ? " is " : " is not ") +
         sweep::joined(words, " or ");
}

/// Whether a row of this type may write the value: real numbers may be written whole.
bool is_of(const KeyType& type, const sweep::Value& value) {
  if (std::holds_alternative<Flag>(type)) return std::holds_alternative<bool>(value);
  const bool is_whole = std::holds_alternative<std::int64_t>(value);
  if (std::holds_alternative<Whole>(type)) return is_whole;
  if (std::holds_alternative<Real>(type)) return is_whole || std::holds_alternative<double>(value);
  return std::holds_alternative<std::string>(value);
}

void check_type(const Key& key, const std::optional<sweep::Value>& value) {
  if (value && !is_of(key.type, *value))
    throw std::logic_error(key.name + " has a default of another type: " + sweep::to_text(*value));
}

// Keys of [tune] and [capacity] enter no cell; sweeps/definition reads them all.
const std::vector<Key> kSweepRows = {
    {"sweep.name", AnyText{}, required(), kAlways,
     "Name of the sweep and, unless --archive says otherwise, of its archive: letters, digits, "
     "'.', '_' and '-'."},
    {"sweep.backend", OneOf{{"sim", "cpu", "cuda", "server"}}, optional("from --backend"), kAlways,
     "What executes the steps: a cost model, the model in plain C++, or the model on a GPU; or a "
     "server that is measured (docs/servers.md); --backend overrides it."},
    {"sweep.record", OneOf{{"summary", "jobs", "all"}}, optional("all"), kAlways,
     "How much of each cell is stored: its figures, its jobs and turns as well, or every table "
     "(docs/archive.md#levels); --record overrides it, and it enters no cell."},
    {"repeat.n", Whole{1, sweep::kMostRepeats}, value(1), kAlways,
     "How often each cell is repeated, each time with another seed of arrivals."},
    {"repeat.seed", Whole{0, sweep::kLargestSeed}, value(42), kAlways,
     "Seed of the arrivals of the first repeat; repeat r uses repeat.seed + r."},
    {"tune.policy", AnyText{}, optional("none"), kAlways,
     "The policy whose parameters `kvsweep tune` searches; the table [tune] enters no cell "
     "(docs/commands.md)."},
    {"tune.candidates", Whole{1, 10'000}, optional("required in [tune]"), kAlways,
     "Settings to try, a Latin hypercube."},
    {"tune.seed", Whole{0, std::int64_t{1} << 53}, value(1), kAlways, "Seed of the candidates."},
    {"tune.range", AnyText{}, optional("none"), kAlways,
     "A table: for each key of the policy the least and the most that are tried, "
     "\"policy.ttl_s\" = [0.5, 60.0]."},
    {"tune.choice", AnyText{}, optional("none"), kAlways,
     "A table: for each key of the policy the values that are tried."},
    {"tune.metric", AnyText{}, value("jct_wall_mean_s"), kAlways,
     "The figure that candidates are judged by."},
    {"tune.train", Whole{3, 10'000}, value(10), kAlways,
     "Repeats that candidates are judged by, from the first."},
    {"tune.held_out", Whole{3, 10'000}, value(20), kAlways,
     "Further repeats, which judge the winner."},
    {"tune.held_out_set", AnyText{}, optional("none"), kAlways,
     "A table: keys that have another value in the held-out cells."},
    {"capacity.slo", AnyText{}, optional("--slo"), kAlways,
     "Limits of figures of a cell, \"ttft_p90=2,tpot_p90=0.05\", within which `kvsweep capacity` "
     "searches the largest load; or a table with several, by name (docs/capacity.md)."},
    {"capacity.most", Real{1e-6, 100'000}, optional("the largest load on the axis"), kAlways,
     "The largest load to try; --most overrides it."},
    {"capacity.step", Real{0.01, 1}, value(0.1), kAlways,
     "By how much each load exceeds the one before."},
    {"capacity.price_per_hour", AnyText{}, optional("none"), kAlways,
     "A table: for each GPU the price of an hour in USD; --price overrides it."},
    {"capacity.watts", AnyText{}, optional("the power limit of the GPU's profile"), kAlways,
     "A table: for each GPU its power; --watts overrides it."},
    {"capacity.search", AnyText{}, optional("none"), kAlways,
     "A table that `kvsweep capacity` writes into the sweep of its archive: what it searched "
     "for."},
};

}  // namespace

std::string in_words(const Condition& condition) {
  std::vector<std::string> all;
  for (const std::vector<KeyTest>& clause : condition.clauses) {
    std::vector<std::string> any;
    for (const KeyTest& test : clause) any.push_back(test_in_words(test));
    const bool in_brackets = any.size() > 1 && condition.clauses.size() > 1;
    all.push_back((in_brackets ? "(" : "") + sweep::joined(any, " or ") + (in_brackets ? ")" : ""));
  }
  return sweep::joined(all, " and ");
}

Default value(const sweep::Value& value) {
  std::string text = sweep::bare_text(value);
  if (std::holds_alternative<double>(value) && text.ends_with(".0")) text.resize(text.size() - 2);
  return {Default::Kind::value, text, value};
}

std::string Key::unit() const {
  if (const auto* whole = std::get_if<Whole>(&type)) return whole->unit;
  const auto* real = std::get_if<Real>(&type);
  return real != nullptr ? real->unit : "";
}

bool Key::is_path() const {
  return std::holds_alternative<FilePath>(type) || std::holds_alternative<FolderPath>(type);
}

sweep::Value Key::checked(const sweep::Param& given) const {
  if (std::holds_alternative<Flag>(type)) return sweep::as_boolean(name, given);
  if (const auto* whole = std::get_if<Whole>(&type))
    return sweep::as_integer(name, given, whole->min, whole->max);
  if (const auto* real = std::get_if<Real>(&type))
    return sweep::as_number(name, given, real->min, real->max);
  const auto* choices = std::get_if<OneOf>(&type);
  return choices != nullptr ? sweep::as_choice(name, given, choices->words)
                            : sweep::as_text(name, given);
}

bool Key::identifies(const sweep::Value& value) const {
  return fallback.identifies && !is_path() &&
         !(fallback.neutral && sweep::same_value(*fallback.neutral, value));
}

KeyTable::KeyTable(std::vector<Key> rows) : keys_(std::move(rows)) {
  for (const Key& key : keys_) names_.push_back(key.name);
  std::ranges::sort(names_);
  names_.erase(std::ranges::unique(names_).begin(), names_.end());
  numbers_.max_load_factor(0.25F);  // each cell of a plan looks up some hundred names
  for (std::size_t number = 0; number < names_.size(); ++number) numbers_[names_[number]] = number;
  rows_.resize(names_.size());
  for (Key& key : keys_) {
    if (auto* one = std::get_if<OneOf>(&key.type); one != nullptr && one->names != nullptr)
      one->words = one->names();
    check_type(key, key.fallback.value);
    check_type(key, key.fallback.neutral);
    auto& usual = key.fallback.value;  // a row for real numbers may write a whole one
    if (std::holds_alternative<Real>(key.type) && usual &&
        std::holds_alternative<std::int64_t>(*usual))
      usual = static_cast<double>(std::get<std::int64_t>(*usual));
    rows_[number_of(key.name)].push_back(&key);
  }
  for (Key& key : keys_)
    for (std::vector<KeyTest>& clause : key.where.clauses)
      for (KeyTest& test : clause) resolve(key, test);
}

void KeyTable::resolve(const Key& key, KeyTest& test) const {
  test.number = test.key == "backend" ? backend() : number_of(test.key);
  if (test.number == kUnknown)
    throw std::logic_error(key.name + " depends on an unknown key: " + test.key);
  const KeyType type = test.number == backend() ? AnyText{} : first_row(test.number).type;
  for (const sweep::Value& each : test.values)
    if (!is_of(type, each))
      throw std::logic_error(key.name + " depends on a value that " + test.key +
                             " cannot have: " + sweep::to_text(each));
}

bool KeyTable::passes(const KeyTest& test, const sweep::Value* value) {
  const bool set = value != nullptr && *value != sweep::Value{std::string()};
  if (test.kind == KeyTest::Kind::set) return set;
  if (test.kind == KeyTest::Kind::unset) return !set;
  const bool found = value != nullptr && std::ranges::any_of(test.values, [&](const auto& each) {
                       return sweep::same_value(each, *value);
                     });
  return found == (test.kind == KeyTest::Kind::equals);
}

std::string KeyTable::reasons(const Key& key, const ValueOf& value_of) const {
  Condition that_hold = key.where;
  for (std::vector<KeyTest>& clause : that_hold.clauses)
    std::erase_if(clause,
                  [&](const KeyTest& test) { return !passes(test, value_of(test.number)); });
  return in_words(that_hold);
}

bool KeyTable::may_count(std::string_view name, const ValueOf& value_of) const {
  const std::size_t number = number_of(name);
  const auto may_hold = [&](const KeyTest& test) {
    return test.number == number || passes(test, value_of(test.number));
  };
  return number == kUnknown || std::ranges::any_of(rows_[number], [&](const Key* row) {
           return row->where.holds(may_hold);
         });
}

const sweep::Value* KeyTable::fallback(std::string_view name) const {
  const std::size_t number = number_of(name);
  if (number == kUnknown || rows_[number].size() > 1) return nullptr;
  const std::optional<sweep::Value>& value = first_row(number).fallback.value;
  return value ? &*value : nullptr;
}

bool KeyTable::has_no_effect_on(const std::string& backend, std::string_view name) const {
  const std::size_t number = number_of(name);
  const sweep::Value value = backend;
  const auto may_hold = [&](const KeyTest& test) {
    return test.number != this->backend() || passes(test, &value);
  };
  return number != kUnknown && std::ranges::none_of(rows_[number], [&](const Key* row) {
           return row->where.holds(may_hold);
         });
}

std::string KeyTable::where_in_words(std::string_view name) const {
  std::string all;
  for (const Key* row : rows_[number_of(name)]) {
    const std::string words = in_words(row->where);
    if (words.empty()) return {};
    all += (all.empty() ? "" : "; or ") + words;
  }
  return all;
}

std::vector<Key> sweep_key_rows() {
  std::vector<Key> rows;
  for (const std::vector<Key>& some : {kSweepRows, kCellRows, kEngineRows, kPolicyRows,
                                       rows_of_rules(), kTierRows, kWorkloadRows, kServerRows})
    rows.insert(rows.end(), some.begin(), some.end());
  return rows;
}

const KeyTable& sweep_keys() {
  static const KeyTable table(sweep_key_rows());
  return table;
}

}  // namespace worker
