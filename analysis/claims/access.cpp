#include "analysis/claims/metrics.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "analysis/digest/access_digest.hpp"
#include "analysis/digest/statistics.hpp"
#include "sweeps/tables/schema.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using sweep::KvAccessKind;
using Values = std::vector<double>;
using Positions = std::vector<std::size_t>;
using StepLayer = std::pair<std::int64_t, std::int32_t>;

/// The log of a cell, and which accesses are those of decodes.
struct Accesses {
  explicit Accesses(const ConfiguredCell& cell)
      : rows(stored_table(cell, "access_rows")), table(stored_table(cell, "kv_access")) {
    for (sweep::TableRow row{rows, 0}; row.row < rows.rows(); ++row.row)
      if (row.at<std::int8_t>("phase") == static_cast<std::int8_t>(sweep::AccessPhase::decode))
        decodes.emplace(row.at<std::int64_t>("step"), row.count("batch_row"));
  }

  /// Reads or writes, of decodes or of prefills.
  Positions of(bool reads, bool of_decodes) const {
    const auto is_read = [&](std::size_t i) {
      return kind_of(i) == KvAccessKind::read_key || kind_of(i) == KvAccessKind::read_value;
    };
    Positions chosen;
    for (std::size_t i = 0; i < log.step.size(); ++i)
      if (is_read(i) == reads && decodes.contains({log.step[i], log.batch_row[i]}) == of_decodes)
        chosen.push_back(i);
    return chosen;
  }
  KvAccessKind kind_of(std::size_t i) const { return static_cast<KvAccessKind>(log.kind[i]); }

  sweep::Table rows, table;
  AccessLog log{table};
  std::set<std::pair<std::int64_t, std::int32_t>> decodes;  // step and row of its batch
};

double ratio(double part, double whole) { return whole > 0 ? part / whole : sweep::kNotObserved; }

double prefill_reads(const Accesses& all) {
  return all.log.step.empty() ? sweep::kNotObserved
                              : static_cast<double>(all.of(true, false).size());
}

template <class Key>
void note_first(std::map<Key, double>& first, const Key& key, double at_s) {
  const auto [entry, is_new] = first.try_emplace(key, at_s);
  if (!is_new) entry->second = std::min(entry->second, at_s);
}

double behind_keys(const Accesses& all) {
  using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
  const AccessLog& log = all.log;
  std::map<Key, double> keys, values;
  for (const std::size_t i : all.of(true, true))
    note_first(all.kind_of(i) == KvAccessKind::read_key ? keys : values,
               {log.step[i], log.layer[i], log.batch_row[i], log.kv_head[i], log.block[i]},
               log.start[i]);
  const auto behind = std::ranges::count_if(values, [&](const auto& value) {
    const auto key = keys.find(value.first);
    return key != keys.end() && value.second > key->second;
  });
  return ratio(static_cast<double>(behind), static_cast<double>(values.size()));
}

double ascending(const Accesses& all) {
  const AccessLog& log = all.log;
  const auto &sm = all.table.values<std::int32_t>("sm"),
             &warp = all.table.values<std::int32_t>("warp");
  const auto stream = [&](std::size_t i) {
    return std::tuple(log.step[i], log.layer[i], log.kind[i], log.batch_row[i], log.kv_head[i],
                      sm[i], warp[i]);
  };
  Positions rows = all.of(true, true);
  std::ranges::stable_sort(rows, {},
                           [&](std::size_t i) { return std::pair(stream(i), log.start[i]); });
  double pairs = 0, ascend = 0;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    if (stream(rows[at]) != stream(rows[at - 1])) continue;
    ++pairs;
    ascend += log.block[rows[at]] >= log.block[rows[at - 1]] ? 1 : 0;
  }
  return ratio(ascend, pairs);
}

/// The time between the first accesses of groups in a launch of `kernel`, as a share of the
/// kernel's time; the median over launches. `group_of` returns the group of an access.
template <class GroupOf>
double spread(const ConfiguredCell& cell, sweep::AccessKernel kernel, const AccessLog& log,
              const Positions& rows, GroupOf group_of) {
  std::map<StepLayer, std::map<std::pair<std::int32_t, std::int32_t>, double>> first;
  for (const std::size_t i : rows)
    note_first(first[{log.step[i], log.layer[i]}], group_of(i), log.start[i]);
  const sweep::Table kernels = stored_table(cell, "access_kernels");
  std::map<StepLayer, double> took_s;
  for (sweep::TableRow row{kernels, 0}; row.row < kernels.rows(); ++row.row)
    if (row.at<std::int8_t>("kernel") == static_cast<std::int8_t>(kernel))
      took_s[{row.at<std::int64_t>("step"), row.count("layer")}] =
          row.number("t_end_s") - row.number("t_start_s");
  Values shares;
  for (const auto& [place, begins] : first) {
    const auto launch = took_s.find(place);
    if (begins.size() < 2 || launch == took_s.end()) continue;
    const auto [early_s, late_s] = std::ranges::minmax(std::views::values(begins));
    shares.push_back(ratio(late_s - early_s, launch->second));
  }
  return percentile(shares, 50);
}

double read_spread(const ConfiguredCell& cell, const Accesses& all) {
  return spread(cell, sweep::AccessKernel::decode_attention, all.log, all.of(true, true),
                [&](std::size_t i) { return std::pair(all.log.batch_row[i], 0); });
}

double write_spread(const ConfiguredCell& cell, const Accesses& all) {
  return spread(cell, sweep::AccessKernel::append, all.log, all.of(false, false),
                [&](std::size_t i) { return std::pair(all.log.batch_row[i], all.log.block[i]); });
}

std::optional<double> of_cell(const std::string& name, const ConfiguredCell& cell) {
  if (name == "idle") return percentile(idle_shares(stored_table(cell, "kv_access")), 50);
  if (name == "prefill_reads") return prefill_reads(Accesses(cell));
  if (name == "behind_keys") return behind_keys(Accesses(cell));
  if (name == "ascending") return ascending(Accesses(cell));
  if (name == "read_spread") return read_spread(cell, Accesses(cell));
  if (name == "write_spread") return write_spread(cell, Accesses(cell));
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
