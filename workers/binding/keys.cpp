#include "workers/binding/keys.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "sweeps/spec/spec.hpp"
#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

template <class Number>
sweep::Value number_in(const KeyRow& row, const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number).ptr != end)
    throw std::logic_error(row.name + ": no number: " + text);
  return number;
}

sweep::Value value_in(const KeyRow& row, const std::string& text) {
  if (std::holds_alternative<Flag>(row.type)) return text == "true";
  if (std::holds_alternative<Whole>(row.type)) return number_in<std::int64_t>(row, text);
  if (std::holds_alternative<Real>(row.type)) return number_in<double>(row, text);
  return text;
}

/// Those of [tune], which enters no cell.
std::vector<KeyRow> rows_of_tune() {
  return {
      {.name = "tune.policy",
       .type = AnyText{},
       .fallback = optional("none"),
       .says = "The policy whose parameters `kvsweep tune` searches; the table [tune] enters no "
               "cell (docs/commands.md)."},
      {.name = "tune.candidates",
       .type = Whole{1, 10'000},
       .fallback = optional("required in [tune]"),
       .says = "Settings to try, a Latin hypercube."},
      {.name = "tune.seed",
       .type = Whole{0, std::int64_t{1} << 53},
       .fallback = value("1"),
       .says = "Seed of the candidates."},
      {.name = "tune.range",
       .type = AnyText{},
       .fallback = optional("none"),
       .says = "A table: for each key of the policy the least and the most that are tried, "
               "\"policy.ttl_s\" = [0.5, 60.0]."},
      {.name = "tune.choice",
       .type = AnyText{},
       .fallback = optional("none"),
       .says = "A table: for each key of the policy the values that are tried."},
      {.name = "tune.metric",
       .type = AnyText{},
       .fallback = value("jct_wall_mean_s"),
       .says = "The figure that candidates are judged by."},
      {.name = "tune.train",
       .type = Whole{3, 10'000},
       .fallback = value("10"),
       .says = "Repeats that candidates are judged by, from the first."},
      {.name = "tune.held_out",
       .type = Whole{3, 10'000},
       .fallback = value("20"),
       .says = "Further repeats, which judge the winner."},
      {.name = "tune.held_out_set",
       .type = AnyText{},
       .fallback = optional("none"),
       .says = "A table: keys that have another value in the held-out cells."},
      {.name = "tune.confirm_backend",
       .type = OneOf{{"cpu", "cuda"}},
       .fallback = optional("none"),
       .says = "Where the two best candidates and the untuned policy run in the end."},
      {.name = "tune.confirm",
       .type = Whole{3, 10'000},
       .fallback = value("3"),
       .says = "Repeats there: the first of the held-out ones."},
      {.name = "tune.confirm_set",
       .type = AnyText{},
       .fallback = optional("none"),
       .says = "A table: keys that have another value there."},
  };
}

/// Keys about the sweep itself, which sweeps/spec reads.
std::vector<KeyRow> rows_of_sweep() {
  return {
      {.name = "sweep.name",
       .type = AnyText{},
       .says = "Name of the sweep and, unless --archive says otherwise, of its archive: letters, "
               "digits, '.', '_' and '-'."},
      {.name = "sweep.backend",
       .type = OneOf{{"sim", "cpu", "cuda", "server"}},
       .fallback = optional("from --backend"),
       .says = "What executes the steps: a cost model, the model in plain C++, or the model on a "
               "GPU; or a server that is measured (docs/servers.md); --backend overrides it."},
      {.name = "sweep.record",
       .type = OneOf{{"summary", "jobs", "all"}},
       .fallback = optional("all"),
       .says = "How much of each cell is stored: its figures, its jobs and turns as well, or every "
               "table (docs/archive.md#levels); --record overrides it, and it enters no cell."},
      {.name = "repeat.n",
       .type = Whole{1, sweep::kMostRepeats},
       .fallback = value("1"),
       .says = "How often each cell is repeated, each time with another seed of arrivals."},
      {.name = "repeat.seed",
       .type = Whole{0, sweep::kLargestSeed},
       .fallback = value("42"),
       .says = "Seed of the arrivals of the first repeat; repeat r uses repeat.seed + r."},
  };
}

}  // namespace

Key::Key(KeyRow written) : row(std::move(written)), where(row.where) {
  if (row.fallback.kind == Default::Kind::value) fallback = value_in(row, row.fallback.text);
  if (!row.neutral.empty()) neutral = value_in(row, row.neutral);
}

bool Key::identifies(const sweep::Value& value) const {
  const bool is_path =
      std::holds_alternative<FilePath>(row.type) || std::holds_alternative<FolderPath>(row.type);
  return !is_path && !(neutral && sweep::same_value(*neutral, value));
}

KeyTable::KeyTable(const std::vector<KeyRow>& rows) {
  by_name_.max_load_factor(0.25F);  // each cell of a plan looks up a thousand names
  for (const KeyRow& row : rows) {
    by_name_[row.name].push_back(keys_.size());
    keys_.emplace_back(row);
  }
  for (const auto& [name, at] : by_name_) names_.push_back(name);
  std::ranges::sort(names_);
}

const Key* KeyTable::counting(std::string_view name, const ValueOf& value_of) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  for (const std::size_t at : found->second)
    if (keys_[at].where.holds(value_of)) return &keys_[at];
  return nullptr;
}

bool KeyTable::may_count(const std::string& name, const ValueOf& value_of) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() || std::ranges::any_of(found->second, [&](std::size_t at) {
           return keys_[at].where.holds_beside(name, value_of);
         });
}

const sweep::Value* KeyTable::fallback(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second.size() > 1) return nullptr;
  const Key& key = keys_[found->second.front()];
  return key.fallback ? &*key.fallback : nullptr;
}

bool KeyTable::has_no_effect_on(const std::string& backend, const std::string& name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() && std::ranges::all_of(found->second, [&](std::size_t at) {
           return keys_[at].where.rules_out_backend(backend);
         });
}

std::string KeyTable::where_in_words(const std::string& name) const {
  std::string all;
  for (const std::size_t at : by_name_.at(name)) {
    const std::string words = keys_[at].where.in_words();
    if (words.empty()) return {};
    all += (all.empty() ? "" : "; or ") + words;
  }
  return all;
}

std::vector<KeyRow> sweep_key_rows() {
  std::vector<KeyRow> all;
  for (const auto rows : {rows_of_sweep, rows_of_tune, rows_of_cell, rows_of_engine, rows_of_policy,
                          rows_of_tier, rows_of_workload, rows_of_server}) {
    for (KeyRow& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

const KeyTable& sweep_keys() {
  static const KeyTable table(sweep_key_rows());
  return table;
}

}  // namespace worker
