#include "workers/binding/keys.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "sweeps/spec/spec.hpp"
#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

using policies::KeyTest;
using Clause = std::vector<KeyTest>;

/// A number matches however it is written: 0 and 0.0 are one.
bool is_written(const sweep::Value& value, const std::string& word) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text == word;
  if (const auto* flag = std::get_if<bool>(&value)) return word == (*flag ? "true" : "false");
  double number = 0;
  return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc() &&
         sweep::same_value(value, number);
}

bool passes(const KeyTest& test, const ValueOf& value_of) {
  const sweep::Value* value = value_of(test.key);
  const bool set = value != nullptr && *value != sweep::Value{std::string()};
  if (test.kind == KeyTest::Kind::set) return set;
  if (test.kind == KeyTest::Kind::unset) return !set;
  const bool found =
      value != nullptr && std::ranges::any_of(test.words, [&](const std::string& word) {
        return is_written(*value, word);
      });
  return found == (test.kind == KeyTest::Kind::equals);
}

bool holds_by(const Clause& clause, const ValueOf& value_of) {
  return std::ranges::any_of(clause, [&](const KeyTest& test) { return passes(test, value_of); });
}

std::string test_in_words(const KeyTest& test) {
  if (test.kind == KeyTest::Kind::set) return test.key + " is set";
  if (test.kind == KeyTest::Kind::unset) return test.key + " is not set";
  return test.key + (test.kind == KeyTest::Kind::equals ? " is " : " is not ") +
         sweep::joined(test.words, " or ");
}

template <class Number>
sweep::Value number_in(const Key& row, const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number).ptr != end)
    throw std::logic_error(row.name + ": no number: " + text);
  return number;
}

sweep::Value value_in(const Key& row, const std::string& text) {
  if (std::holds_alternative<Flag>(row.type)) return text == "true";
  if (std::holds_alternative<Whole>(row.type)) return number_in<std::int64_t>(row, text);
  if (std::holds_alternative<Real>(row.type)) return number_in<double>(row, text);
  return text;
}

/// Keys of [tune], which enters no cell.
std::vector<Key> rows_of_tune() {
  return {
      {"tune.policy", AnyText{}, optional("none"), kAlways,
       "The policy whose parameters `kvsweep tune` searches; the table [tune] enters no cell "
       "(docs/commands.md)."},
      {"tune.candidates", Whole{1, 10'000}, optional("required in [tune]"), kAlways,
       "Settings to try, a Latin hypercube."},
      {"tune.seed", Whole{0, std::int64_t{1} << 53}, value("1"), kAlways,
       "Seed of the candidates."},
      {"tune.range", AnyText{}, optional("none"), kAlways,
       "A table: for each key of the policy the least and the most that are tried, "
       "\"policy.ttl_s\" = [0.5, 60.0]."},
      {"tune.choice", AnyText{}, optional("none"), kAlways,
       "A table: for each key of the policy the values that are tried."},
      {"tune.metric", AnyText{}, value("jct_wall_mean_s"), kAlways,
       "The figure that candidates are judged by."},
      {"tune.train", Whole{3, 10'000}, value("10"), kAlways,
       "Repeats that candidates are judged by, from the first."},
      {"tune.held_out", Whole{3, 10'000}, value("20"), kAlways,
       "Further repeats, which judge the winner."},
      {"tune.held_out_set", AnyText{}, optional("none"), kAlways,
       "A table: keys that have another value in the held-out cells."},
  };
}

/// Those of [capacity], which enters no cell.
std::vector<Key> rows_of_capacity() {
  return {
      {"capacity.slo", AnyText{}, optional("--slo"), kAlways,
       "Limits of figures of a cell, \"ttft_p90=2,tpot_p90=0.05\", within which `kvsweep capacity` "
       "searches the largest load; or a table with several, by name (docs/capacity.md)."},
      {"capacity.most", Real{1e-6, 100'000}, optional("the largest load on the axis"), kAlways,
       "The largest load to try; --most overrides it."},
      {"capacity.step", Real{0.01, 1}, value("0.1"), kAlways,
       "By how much each load exceeds the one before."},
      {"capacity.price_per_hour", AnyText{}, optional("none"), kAlways,
       "A table: for each GPU the price of an hour in USD; --price overrides it."},
      {"capacity.watts", AnyText{}, optional("the power limit of the GPU's profile"), kAlways,
       "A table: for each GPU its power; --watts overrides it."},
      {"capacity.search", AnyText{}, optional("none"), kAlways,
       "A table that `kvsweep capacity` writes into the sweep of its archive: what it searched "
       "for."},
  };
}

/// Keys about the sweep itself, which sweeps/spec reads.
std::vector<Key> rows_of_sweep() {
  return {
      {"sweep.name", AnyText{}, required(), kAlways,
       "Name of the sweep and, unless --archive says otherwise, of its archive: letters, digits, "
       "'.', '_' and '-'."},
      {"sweep.backend", OneOf{{"sim", "cpu", "cuda", "server"}}, optional("from --backend"),
       kAlways,
       "What executes the steps: a cost model, the model in plain C++, or the model on a GPU; or a "
       "server that is measured (docs/servers.md); --backend overrides it."},
      {"sweep.record", OneOf{{"summary", "jobs", "all"}}, optional("all"), kAlways,
       "How much of each cell is stored: its figures, its jobs and turns as well, or every table "
       "(docs/archive.md#levels); --record overrides it, and it enters no cell."},
      {"repeat.n", Whole{1, sweep::kMostRepeats}, value("1"), kAlways,
       "How often each cell is repeated, each time with another seed of arrivals."},
      {"repeat.seed", Whole{0, sweep::kLargestSeed}, value("42"), kAlways,
       "Seed of the arrivals of the first repeat; repeat r uses repeat.seed + r."},
  };
}

}  // namespace

bool holds(const Condition& condition, const ValueOf& value_of) {
  return std::ranges::all_of(condition.clauses,
                             [&](const Clause& clause) { return holds_by(clause, value_of); });
}

bool holds_beside(const std::string& key, const Condition& condition, const ValueOf& value_of) {
  return std::ranges::all_of(condition.clauses, [&](const Clause& clause) {
    return std::ranges::find(clause, key, &KeyTest::key) != clause.end() ||
           holds_by(clause, value_of);
  });
}

bool rules_out_backend(const Condition& condition, const std::string& backend) {
  const sweep::Value value = backend;
  return std::ranges::any_of(condition.clauses, [&](const Clause& clause) {
    return std::ranges::all_of(clause, [](const KeyTest& test) { return test.key == "backend"; }) &&
           !holds_by(clause, [&](const std::string&) { return &value; });
  });
}

std::string reasons(const Condition& condition, const ValueOf& value_of) {
  Condition that_hold = condition;
  for (Clause& clause : that_hold.clauses)
    std::erase_if(clause, [&](const KeyTest& test) { return !passes(test, value_of); });
  return in_words(that_hold);
}

std::string in_words(const Condition& condition) {
  std::vector<std::string> all;
  for (const Clause& clause : condition.clauses) {
    std::vector<std::string> any;
    for (const KeyTest& test : clause) any.push_back(test_in_words(test));
    const bool in_brackets = any.size() > 1 && condition.clauses.size() > 1;
    all.push_back((in_brackets ? "(" : "") + sweep::joined(any, " or ") + (in_brackets ? ")" : ""));
  }
  return sweep::joined(all, " and ");
}

std::string Key::unit() const {
  if (const auto* whole = std::get_if<Whole>(&type)) return whole->unit;
  const auto* real = std::get_if<Real>(&type);
  return real != nullptr ? real->unit : "";
}

bool Key::identifies(const sweep::Value& value) const {
  const bool is_path =
      std::holds_alternative<FilePath>(type) || std::holds_alternative<FolderPath>(type);
  return fallback.identifies && !is_path && !(neutral && sweep::same_value(*neutral, value));
}

KeyTable::KeyTable(std::vector<Key> rows) : keys_(std::move(rows)) {
  by_name_.max_load_factor(0.25F);  // each cell of a plan looks up a thousand names
  for (std::size_t at = 0; at < keys_.size(); ++at) {
    Key& key = keys_[at];
    if (key.fallback.kind == Default::Kind::value) key.usual = value_in(key, key.fallback.text);
    if (!key.fallback.neutral.empty()) key.neutral = value_in(key, key.fallback.neutral);
    by_name_[key.name].push_back(at);
  }
  for (const auto& [name, at] : by_name_) names_.push_back(name);
  std::ranges::sort(names_);
}

const Key* KeyTable::counting(std::string_view name, const ValueOf& value_of) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  for (const std::size_t at : found->second)
    if (holds(keys_[at].where, value_of)) return &keys_[at];
  return nullptr;
}

bool KeyTable::may_count(const std::string& name, const ValueOf& value_of) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() || std::ranges::any_of(found->second, [&](std::size_t at) {
           return holds_beside(name, keys_[at].where, value_of);
         });
}

const sweep::Value* KeyTable::fallback(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second.size() > 1) return nullptr;
  const Key& key = keys_[found->second.front()];
  return key.usual ? &*key.usual : nullptr;
}

bool KeyTable::has_no_effect_on(const std::string& backend, const std::string& name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() && std::ranges::all_of(found->second, [&](std::size_t at) {
           return rules_out_backend(keys_[at].where, backend);
         });
}

std::string KeyTable::where_in_words(const std::string& name) const {
  std::string all;
  for (const std::size_t at : by_name_.at(name)) {
    const std::string words = in_words(keys_[at].where);
    if (words.empty()) return {};
    all += (all.empty() ? "" : "; or ") + words;
  }
  return all;
}

std::vector<Key> sweep_key_rows() {
  return rows_in({rows_of_sweep(), rows_of_tune(), rows_of_capacity(), rows_of_cell(),
                  rows_of_engine(), rows_of_policy(), rows_of_tier(), rows_of_workload(),
                  rows_of_server()});
}

const KeyTable& sweep_keys() {
  static const KeyTable table(sweep_key_rows());
  return table;
}

}  // namespace worker
