#include "analysis/claims/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/text/list.hpp"
#include "sweeps/definition/params.hpp"

namespace analysis {
namespace {

constexpr std::string_view kAt = "at.";
const std::vector<std::string> kWords = {
    "says",  "source", "metric", "experiment", "pooled",    "cells",      "repeats",
    "draws", "low",    "high",   "tolerance",  "published", "own_numbers"};
constexpr std::array<std::string_view, 5> kFilters = {"where.", "value.", "base.", "from.",
                                                      "assumed."};

struct DraftPoint {
  std::string name;
  sweep::ParamMap keys;
};

/// A claim as the file has it: its own keys, and those of each point.
struct Draft {
  std::string id;
  sweep::Location where;
  sweep::ParamMap common;
  std::vector<DraftPoint> points;
};

[[noreturn]] void fail(const sweep::Location& where, const std::string& problem) {
  throw sweep::SpecError(sweep::to_text(where) + ": " + problem);
}

/// "a | b" is two alternatives.
std::vector<std::string> alternatives(const sweep::Value& value) {
  return sweep::split(shown(value) + " | ", " | ");
}

void check_key(const std::string& key, const sweep::Param& param) {
  const auto has = [&](std::string_view prefix) { return key.starts_with(prefix); };
  if (std::ranges::any_of(kFilters, has) || std::ranges::find(kWords, key) != kWords.end()) return;
  const std::string near = sweep::did_you_mean(key, kWords);
  fail(param.where,
       "a claim has no key " + key + (near.empty() ? "" : "; did you mean " + near + '?'));
}

std::vector<Draft> drafts_of(const std::string& path) {
  const sweep::ParamMap params = sweep::load_flat_toml(path);
  auto in_order = mapped(params, [](const auto& entry) { return &entry; });
  std::ranges::sort(in_order, {}, [](const auto* entry) {
    return std::pair(entry->second.where.line, entry->second.where.column);
  });
  std::vector<Draft> claims;
  for (const auto* entry : in_order) {
    const auto& [key, param] = *entry;
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) sweep::fail_value(key, param, "must be in the table of a claim");
    const std::string id = key.substr(0, dot);
    std::string rest = key.substr(dot + 1);
    if (claims.empty() || claims.back().id != id) {
      if (std::ranges::find(claims, id, &Draft::id) != claims.end())
        fail(param.where,
             "claim " + id + " must be written in one piece, without another claim in between");
      claims.push_back({id, param.where, {}, {}});
    }
    sweep::ParamMap* keys = &claims.back().common;
    const std::size_t end = rest.find('.', kAt.size());
    if (rest.starts_with(kAt) && end != std::string::npos) {
      const std::string point = rest.substr(kAt.size(), end - kAt.size());
      keys = &item_with(claims.back().points, &DraftPoint::name, point).keys;
      rest.erase(0, end + 1);
    }
    check_key(rest, param);
    (*keys)[rest] = param;
  }
  return claims;
}

std::optional<double> number(const sweep::ParamMap& keys, const std::string& key) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  const auto found = keys.find(key);
  if (found == keys.end()) return std::nullopt;
  return sweep::as_number(key, found->second, -kMost, kMost);
}

std::size_t count(const sweep::ParamMap& keys, const std::string& key, std::size_t fallback) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto found = keys.find(key);
  if (found == keys.end()) return fallback;
  return static_cast<std::size_t>(sweep::as_integer(key, found->second, 1, kMost));
}

/// Adds the keys that begin with the prefix, and replaces what the filter has.
void add(CellFilter& filter, const sweep::ParamMap& keys, std::string_view prefix) {
  for (const auto& [key, param] : keys)
    if (key.starts_with(prefix)) filter[key.substr(prefix.size())] = alternatives(param.value);
}

/// The only value that the filter accepts; empty if there is none or more than one.
std::string only(const CellFilter& filter, const std::string& key) {
  const auto found = filter.find(key);
  return found == filter.end() || found->second.size() != 1 ? "" : found->second.front();
}

double published_for(const CellFilter& cells, const std::string& metric,
                     std::span<const Published> published) {
  const std::string dram = only(cells, "dram_gib");
  const std::string variant =
      only(cells, "policy") + (dram.empty() || dram == "-" ? "" : '-' + dram + 'G');
  const auto rate = number_from(only(cells, "jps"));
  for (const Published& each : published)
    if (each.metric == metric && rate)
      if (const double value = each.value_at(only(cells, "gpu"), variant, *rate);
          !std::isnan(value))
        return value;
  return sweep::kNotObserved;
}

bool same_entry(const CellFilter& a, const CellFilter& b) {
  return std::ranges::all_of(std::array{"gpu", "policy", "dram_gib", "jps"},
                             [&](const char* key) { return only(a, key) == only(b, key); });
}

void set_limits(ClaimPoint& point, const Draft& claim, const sweep::ParamMap& keys) {
  const auto low = number(keys, "low"), high = number(keys, "high"),
             tolerance = number(keys, "tolerance");
  const std::string place = "claim " + claim.id + (point.name.empty() ? "" : " at " + point.name);
  if (tolerance && (low || high)) fail(claim.where, place + " has both a tolerance and limits");
  if (tolerance && std::isnan(point.published))
    fail(claim.where, place + " has a tolerance and no published value");
  if (!tolerance && !low && !high)
    fail(claim.where, place + " needs low, high, or a tolerance around a published value");
  const double width = std::abs(point.published) * tolerance.value_or(0);
  if (tolerance || low) point.low = low.value_or(point.published - width);
  if (tolerance || high) point.high = high.value_or(point.published + width);
  if (point.low > point.high) fail(claim.where, place + " has low above high");
}

/// `keys` are those of the point, and those of the claim that it lacks.
ClaimPoint finished_point(const Draft& claim, const std::string& name, sweep::ParamMap keys,
                          const std::string& metric, std::span<const Published> published) {
  keys.insert(claim.common.begin(), claim.common.end());
  ClaimPoint point;
  point.name = name;
  add(point.cells, keys, "where.");
  point.base = point.from = point.cells;
  add(point.cells, keys, "value.");
  add(point.base, keys, "base.");
  add(point.from, keys, "from.");
  const auto has = [&](std::string_view prefix) {
    return std::ranges::any_of(keys,
                               [&](const auto& entry) { return entry.first.starts_with(prefix); });
  };
  for (const std::string prefix : {"value.", "base.", "from."})
    for (const auto& [key, param] : keys)
      if (key.starts_with(prefix)) point.varied.push_back(key.substr(prefix.size()));
  point.is_ratio = has("base.");
  if (!has("from.")) point.from.clear();
  if (!point.from.empty() && !point.is_ratio)
    fail(claim.where, "claim " + claim.id + " has from and no base");
  point.group_size = count(keys, "cells", 0);
  if (const auto stated = number(keys, "published")) {
    point.published = *stated;
  } else {
    point.published = published_for(point.cells, metric, published);
    // Two sides that the table does not tell apart have no published ratio.
    if (point.is_ratio)
      point.published = same_entry(point.cells, point.base)
                            ? sweep::kNotObserved
                            : point.published / published_for(point.base, metric, published);
  }
  set_limits(point, claim, keys);
  return point;
}

Claim finished(const Draft& draft, std::span<const Published> published) {
  sweep::ParamReader reader(draft.common, "claim " + draft.id);
  const auto needed = [&](const std::string& key) {
    if (!reader.has(key)) fail(draft.where, "claim " + draft.id + " lacks " + key);
    return reader.text(key, "");
  };
  Claim claim;
  claim.id = draft.id;
  claim.says = needed("says");
  claim.source = needed("source");
  claim.metric = needed("metric");
  claim.experiment = reader.text("experiment", "");
  claim.pooled = reader.boolean("pooled", false);
  claim.repeats = count(draft.common, "repeats", 3);
  claim.draws = reader.text("draws", "");
  claim.own_numbers = reader.text("own_numbers", "");
  add(claim.assumed, draft.common, "assumed.");
  for (const auto& [name, own] : draft.points)
    claim.points.push_back(finished_point(draft, name, own, claim.metric, published));
  if (claim.points.empty())
    claim.points.push_back(finished_point(draft, "", {}, claim.metric, published));
  return claim;
}

bool is_one_of(const std::optional<sweep::Value>& value, const std::vector<std::string>& texts) {
  const std::string own = shown(value);
  const auto number = number_from(own);
  return std::ranges::any_of(texts, [&](const std::string& text) {
    return text == own || (number && number_from(text) == number);
  });
}

}  // namespace

bool matches(const ConfiguredCell& cell, const CellFilter& filter) {
  return std::ranges::all_of(filter, [&](const auto& entry) {
    return is_one_of(cell.written(entry.first), entry.second);
  });
}

std::vector<Claim> load_claims(const std::string& path, std::span<const Published> published) {
  std::vector<Claim> claims;
  for (const Draft& draft : drafts_of(path)) {
    claims.push_back(finished(draft, published));
    claims.back().set = std::filesystem::path(path).stem().string();
  }
  return claims;
}

}  // namespace analysis
