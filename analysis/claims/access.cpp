#include "analysis/claims/access.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "analysis/digest/access_digest.hpp"
#include "analysis/digest/statistics.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

using sweep::AccessKernel;
using sweep::KvAccessKind;
using Values = std::vector<double>;
using StepLayer = std::pair<std::int64_t, std::int32_t>;

struct Touch {
  std::int64_t step;
  std::int32_t layer, row, head, block, sm, warp;
  KvAccessKind kind;
  bool decode;
  double at_s;

  StepLayer place() const { return {step, layer}; }
};

bool is_read(const Touch& touch) {
  return touch.kind == KvAccessKind::read_key || touch.kind == KvAccessKind::read_value;
}

std::vector<Touch> touches_of(const ConfiguredCell& cell) {
  const sweep::Table rows = stored_table(cell, "access_rows"),
                     table = stored_table(cell, "kv_access");
  const auto& steps = rows.values<std::int64_t>("step");
  const auto& numbers = rows.values<std::int32_t>("batch_row");
  const auto& phases = rows.values<std::int8_t>("phase");
  std::map<std::pair<std::int64_t, std::int32_t>, bool> decodes;
  for (std::size_t i = 0; i < steps.size(); ++i)
    decodes[{steps[i], numbers[i]}] =
        phases[i] == static_cast<std::int8_t>(sweep::AccessPhase::decode);
  const auto& step = table.values<std::int64_t>("step");
  const auto column = [&](const char* name) -> const std::vector<std::int32_t>& {
    return table.values<std::int32_t>(name);
  };
  const auto &layer = column("layer"), &row = column("batch_row"), &head = column("kv_head"),
             &block = column("block"), &sm = column("sm"), &warp = column("warp");
  const auto& kind = table.values<std::int8_t>("kind");
  const auto& at = table.values<double>("t_s");
  std::vector<Touch> touches;
  touches.reserve(step.size());
  for (std::size_t i = 0; i < step.size(); ++i)
    touches.push_back({step[i], layer[i], row[i], head[i], block[i], sm[i], warp[i],
                       static_cast<KvAccessKind>(kind[i]), decodes[{step[i], row[i]}], at[i]});
  return touches;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : sweep::kNotObserved; }

double prefill_reads(const std::vector<Touch>& touches) {
  if (touches.empty()) return sweep::kNotObserved;
  return static_cast<double>(std::ranges::count_if(
      touches, [](const Touch& touch) { return is_read(touch) && !touch.decode; }));
}

/// Keeps the earliest time for each key.
template <class Key>
void note_first(std::map<Key, double>& first, const Key& key, double at_s) {
  const auto [entry, is_new] = first.try_emplace(key, at_s);
  if (!is_new) entry->second = std::min(entry->second, at_s);
}

double behind_keys(const std::vector<Touch>& touches) {
  using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
  std::map<Key, double> keys, values;
  for (const Touch& touch : touches) {
    if (!touch.decode || !is_read(touch)) continue;
    note_first(touch.kind == KvAccessKind::read_key ? keys : values,
               {touch.step, touch.layer, touch.row, touch.head, touch.block}, touch.at_s);
  }
  const auto behind = std::ranges::count_if(values, [&](const auto& value) {
    const auto key = keys.find(value.first);
    return key != keys.end() && value.second > key->second;
  });
  return ratio(static_cast<double>(behind), static_cast<double>(values.size()));
}

double ascending(std::vector<Touch> touches) {
  std::erase_if(touches, [](const Touch& touch) { return !touch.decode || !is_read(touch); });
  const auto stream = [](const Touch& touch) {
    return std::tuple(touch.step, touch.layer, touch.kind, touch.row, touch.head, touch.sm,
                      touch.warp);
  };
  std::ranges::stable_sort(touches, {},
                           [&](const Touch& t) { return std::pair(stream(t), t.at_s); });
  double pairs = 0, ascend = 0;
  for (std::size_t i = 1; i < touches.size(); ++i) {
    if (stream(touches[i]) != stream(touches[i - 1])) continue;
    ++pairs;
    ascend += touches[i].block >= touches[i - 1].block ? 1 : 0;
  }
  return ratio(ascend, pairs);
}

/// The duration of each kernel launch.
std::map<StepLayer, double> kernel_times(const sweep::Table& table, AccessKernel wanted) {
  const auto& kernel = table.values<std::int8_t>("kernel");
  const auto& step = table.values<std::int64_t>("step");
  const auto& layer = table.values<std::int32_t>("layer");
  const auto &start = table.values<double>("t_start_s"), &end = table.values<double>("t_end_s");
  std::map<StepLayer, double> times;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (kernel[i] == static_cast<std::int8_t>(wanted))
      times[{step[i], layer[i]}] = end[i] - start[i];
  return times;
}

/// The time between the first accesses of groups, as a share of their kernel's time; the median
/// over kernels. `counts` selects accesses, and `group_of` returns the group of one.
template <class Counts, class GroupOf>
double spread(const std::vector<Touch>& touches, const std::map<StepLayer, double>& kernels,
              Counts counts, GroupOf group_of) {
  std::map<StepLayer, std::map<std::pair<std::int32_t, std::int32_t>, double>> first;
  for (const Touch& touch : touches)
    if (counts(touch)) note_first(first[touch.place()], group_of(touch), touch.at_s);
  Values shares;
  for (const auto& [place, begins] : first) {
    const auto kernel = kernels.find(place);
    if (begins.size() < 2 || kernel == kernels.end()) continue;
    const auto [early_s, late_s] = std::ranges::minmax(std::views::values(begins));
    shares.push_back(ratio(late_s - early_s, kernel->second));
  }
  return percentile(shares, 50);
}

double read_spread(const std::vector<Touch>& touches, const sweep::Table& kernels) {
  return spread(
      touches, kernel_times(kernels, AccessKernel::decode_attention),
      [](const Touch& touch) { return touch.decode && is_read(touch); },
      [](const Touch& touch) { return std::pair(touch.row, 0); });
}

double write_spread(const std::vector<Touch>& touches, const sweep::Table& kernels) {
  return spread(
      touches, kernel_times(kernels, AccessKernel::append),
      [](const Touch& touch) { return !touch.decode && !is_read(touch); },
      [](const Touch& touch) { return std::pair(touch.row, touch.block); });
}

std::optional<double> of_cell(const std::string& name, const ConfiguredCell& cell) {
  if (name == "idle") return percentile(idle_shares(stored_table(cell, "kv_access")), 50);
  if (name == "prefill_reads") return prefill_reads(touches_of(cell));
  if (name == "behind_keys") return behind_keys(touches_of(cell));
  if (name == "ascending") return ascending(touches_of(cell));
  if (name == "read_spread")
    return read_spread(touches_of(cell), stored_table(cell, "access_kernels"));
  if (name == "write_spread")
    return write_spread(touches_of(cell), stored_table(cell, "access_kernels"));
  return std::nullopt;
}

}  // namespace

std::optional<double> access_metric(const std::string& name,
                                    std::span<const ConfiguredCell* const> cells) {
  Values values;
  for (const ConfiguredCell* cell : cells) {
    const std::optional<double> value = of_cell(name, *cell);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return mean(values);
}

}  // namespace analysis
