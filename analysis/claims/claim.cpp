#include "analysis/claims/claim.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "sweeps/definition/params.hpp"

namespace analysis {
namespace {

constexpr std::string_view kAt = "at.";
const std::vector<std::string> kWords = {"says",   "source",    "metric",    "experiment",
                                         "pooled", "cells",     "repeats",   "low",
                                         "high",   "tolerance", "published", "own_numbers"};
const std::vector<std::string> kFilters = {"where.", "value.", "base.", "assumed."};

/// The settings of a claim, or those of one of its points.
struct Draft {
  CellFilter where, value, base, assumed;
  sweep::ParamMap words;
};

struct DraftClaim {
  std::string id;
  sweep::Location where;
  Draft common;
  std::vector<std::pair<std::string, Draft>> points;
};

[[noreturn]] void fail(const sweep::Location& where, const std::string& problem) {
  throw sweep::SpecError(sweep::to_text(where) + ": " + problem);
}

[[noreturn]] void fail(const std::string& key, const sweep::Param& param,
                       const std::string& problem) {
  fail(param.where, key + ' ' + problem + ", found " + sweep::to_text(param.value));
}

/// "a | b" is two alternatives.
std::vector<std::string> alternatives(const sweep::Value& value) {
  std::vector<std::string> texts;
  std::string rest = shown(value);
  for (std::size_t bar; (bar = rest.find(" | ")) != std::string::npos; rest.erase(0, bar + 3))
    texts.push_back(rest.substr(0, bar));
  texts.push_back(rest);
  return texts;
}

void set(Draft& draft, const std::string& key, const sweep::Param& param) {
  for (const std::string& prefix : kFilters) {
    if (!key.starts_with(prefix)) continue;
    CellFilter& filter = prefix == "where."   ? draft.where
                         : prefix == "value." ? draft.value
                         : prefix == "base."  ? draft.base
                                              : draft.assumed;
    filter[key.substr(prefix.size())] = alternatives(param.value);
    return;
  }
  if (std::ranges::find(kWords, key) == kWords.end()) {
    const std::string near = sweep::did_you_mean(key, kWords);
    fail(param.where,
         "a claim has no key " + key + (near.empty() ? "" : "; did you mean " + near + '?'));
  }
  draft.words[key] = param;
}

Draft& point_of(DraftClaim& claim, const std::string& name) {
  const auto found = std::ranges::find(claim.points, name, &std::pair<std::string, Draft>::first);
  if (found != claim.points.end()) return found->second;
  return claim.points.emplace_back(name, Draft{}).second;
}

std::vector<DraftClaim> drafts_of(const std::string& path) {
  const sweep::ParamMap params = sweep::load_flat_toml(path);
  std::vector<const sweep::ParamMap::value_type*> in_order;
  for (const auto& entry : params) in_order.push_back(&entry);
  std::ranges::sort(in_order, {}, [](const auto* entry) {
    return std::pair(entry->second.where.line, entry->second.where.column);
  });
  std::vector<DraftClaim> claims;
  for (const auto* entry : in_order) {
    const auto& [key, param] = *entry;
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) fail(key, param, "must be in the table of a claim");
    const std::string id = key.substr(0, dot), rest = key.substr(dot + 1);
    if (claims.empty() || claims.back().id != id) {
      if (std::ranges::find(claims, id, &DraftClaim::id) != claims.end())
        fail(param.where,
             "claim " + id + " must be written in one piece, without another claim in between");
      claims.push_back({id, param.where, {}, {}});
    }
    DraftClaim& claim = claims.back();
    const std::size_t end = rest.find('.', kAt.size());
    if (rest.starts_with(kAt) && end != std::string::npos) {
      set(point_of(claim, rest.substr(kAt.size(), end - kAt.size())), rest.substr(end + 1), param);
    } else {
      set(claim.common, rest, param);
    }
  }
  return claims;
}

template <class T>
std::optional<T> word(const Draft& draft, const std::string& key, const char* kind) {
  const auto found = draft.words.find(key);
  if (found == draft.words.end()) return std::nullopt;
  const sweep::Value& value = found->second.value;
  if (const auto* exact = std::get_if<T>(&value)) return *exact;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  }
  fail(key, found->second, std::string("must be ") + kind);
}

std::optional<double> number(const Draft& point, const Draft& common, const std::string& key) {
  const auto own = word<double>(point, key, "a number");
  return own ? own : word<double>(common, key, "a number");
}

std::size_t count(const Draft& draft, const std::string& key, std::size_t fallback) {
  const auto found = word<std::int64_t>(draft, key, "a whole number");
  if (!found) return fallback;
  if (*found < 1) fail(key, draft.words.at(key), "must be at least 1");
  return static_cast<std::size_t>(*found);
}

void add(CellFilter& to, const CellFilter& from) {
  for (const auto& [key, texts] : from) to[key] = texts;
}

/// The only value that the filter accepts; empty if there is none or more than one.
std::string only(const CellFilter& filter, const std::string& key) {
  const auto found = filter.find(key);
  return found == filter.end() || found->second.size() != 1 ? "" : found->second.front();
}

double published_for(const CellFilter& cells, const std::string& metric,
                     std::span<const Published> published) {
  const std::string gpu = only(cells, "gpu"), jps = only(cells, "jps"),
                    dram = only(cells, "dram_gib");
  const std::string variant =
      only(cells, "policy") + (dram.empty() || dram == "-" ? "" : '-' + dram + 'G');
  double rate = 0;
  if (std::from_chars(jps.data(), jps.data() + jps.size(), rate).ec != std::errc())
    return sweep::kNotObserved;
  for (const Published& each : published) {
    if (each.metric != metric) continue;
    for (const Published::Entry& entry : each.entries)
      if (entry.gpu == gpu && entry.variant == variant && entry.jps == rate) return entry.value;
  }
  return sweep::kNotObserved;
}

bool same_entry(const CellFilter& a, const CellFilter& b) {
  return std::ranges::all_of(std::array{"gpu", "policy", "dram_gib", "jps"},
                             [&](const char* key) { return only(a, key) == only(b, key); });
}

void set_limits(ClaimPoint& point, const DraftClaim& claim, const Draft& own) {
  const auto low = number(own, claim.common, "low"), high = number(own, claim.common, "high"),
             tolerance = number(own, claim.common, "tolerance");
  const std::string place = "claim " + claim.id + (point.name.empty() ? "" : " at " + point.name);
  if (tolerance && (low || high)) fail(claim.where, place + " has both a tolerance and limits");
  if (tolerance && std::isnan(point.published))
    fail(claim.where, place + " has a tolerance and no published value");
  if (!tolerance && !low && !high)
    fail(claim.where, place + " needs low, high, or a tolerance around a published value");
  if (tolerance) {
    const double width = std::abs(point.published) * *tolerance;
    point.low = point.published - width;
    point.high = point.published + width;
  }
  if (low) point.low = *low;
  if (high) point.high = *high;
  if (point.low > point.high) fail(claim.where, place + " has low above high");
}

ClaimPoint finished_point(const DraftClaim& claim, const std::string& name, const Draft& own,
                          const std::string& metric, std::span<const Published> published) {
  ClaimPoint point;
  point.name = name;
  CellFilter value = claim.common.value, base = claim.common.base;
  add(value, own.value);
  add(base, own.base);
  add(point.cells, claim.common.where);
  add(point.cells, own.where);
  point.base = point.cells;
  add(point.cells, value);
  add(point.base, base);
  point.is_ratio = !base.empty();
  point.pool_size = count(own, "cells", count(claim.common, "cells", 0));
  for (const CellFilter* side : {&value, &base})
    for (const auto& [key, texts] : *side) point.varied.push_back(key);
  if (const auto stated = number(own, claim.common, "published")) {
    point.published = *stated;
  } else {
    point.published = published_for(point.cells, metric, published);
    // Two sides that the table does not tell apart have no published ratio.
    if (point.is_ratio)
      point.published = same_entry(point.cells, point.base)
                            ? sweep::kNotObserved
                            : point.published / published_for(point.base, metric, published);
  }
  set_limits(point, claim, own);
  return point;
}

std::string text(const DraftClaim& claim, const std::string& key, bool needed) {
  const auto found = word<std::string>(claim.common, key, "a string");
  if (!found && needed) fail(claim.where, "claim " + claim.id + " lacks " + key);
  return found.value_or("");
}

Claim finished(const DraftClaim& draft, std::span<const Published> published) {
  Claim claim;
  claim.id = draft.id;
  claim.says = text(draft, "says", true);
  claim.source = text(draft, "source", true);
  claim.metric = text(draft, "metric", true);
  claim.experiment = text(draft, "experiment", false);
  claim.pooled = word<bool>(draft.common, "pooled", "true or false").value_or(false);
  claim.repeats = count(draft.common, "repeats", 3);
  claim.own_numbers = text(draft, "own_numbers", false);
  claim.assumed = draft.common.assumed;
  for (const auto& [name, own] : draft.points)
    claim.points.push_back(finished_point(draft, name, own, claim.metric, published));
  if (claim.points.empty())
    claim.points.push_back(finished_point(draft, "", Draft{}, claim.metric, published));
  return claim;
}

std::optional<double> as_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_one_of(const std::optional<sweep::Value>& value, const std::vector<std::string>& texts) {
  const std::string own = shown(value);
  const auto number = as_number(own);
  return std::ranges::any_of(texts, [&](const std::string& text) {
    return text == own || (number && as_number(text) == number);
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
  for (const DraftClaim& draft : drafts_of(path)) {
    claims.push_back(finished(draft, published));
    claims.back().set = std::filesystem::path(path).stem().string();
  }
  return claims;
}

}  // namespace analysis
