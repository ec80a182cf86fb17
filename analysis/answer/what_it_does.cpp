#include "analysis/answer/what_it_does.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "analysis/answer/parts.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

using Pair = WhatItDoes::Pair;

double figure_of(const PolicyCells& policy, const char* figure) {
  return mean_of(by_seed(policy.repeats, figure)).value;
}

/// The share of the prompt tokens whose KV was found, in percent; NaN if it was not observed.
double found_percent(const PolicyCells& policy) {
  const double on_host = figure_of(policy, "host_hit_rate");
  return 100 * (figure_of(policy, "prefix_hit_rate") + (std::isnan(on_host) ? 0 : on_host));
}

Pair pair_of(double own, double other) {
  if (std::isnan(own) || std::isnan(other)) return {};
  return {{own}, {other}};
}

std::string number_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent_text(double percent) { return number_text("%.0f", percent); }

/// "834", "13 k", "7.8 M"
std::string count_text(double count) {
  if (count >= 999'500) return number_text("%.1f M", count / 1e6);
  return count >= 1000 ? number_text("%.0f k", count / 1e3) : number_text("%.0f", count);
}

std::string seconds_text(double s) { return number_text(s < 10 ? "%.2f" : "%.1f", s); }

/// From the least to the most of the rates.
template <class TextOf>
std::string range(const std::vector<double>& values, TextOf text_of) {
  const auto [least, most] = std::ranges::minmax(values);
  return from_to(text_of(least), text_of(most));
}

bool is_apart(const Pair& pair) {
  constexpr double kApart = 0.1;
  for (std::size_t i = 0; i < pair.own.size(); ++i)
    if (std::abs(pair.own[i] - pair.other[i]) > kApart * std::max(pair.own[i], pair.other[i]))
      return true;
  return false;
}

void append(Pair& pair, const Pair& more) {
  std::ranges::copy(more.own, std::back_inserter(pair.own));
  std::ranges::copy(more.other, std::back_inserter(pair.other));
}

}  // namespace

void WhatItDoes::add(const WhatItDoes& more) {
  append(found_percent, more.found_percent);
  append(recomputed_tok, more.recomputed_tok);
  append(queue_s, more.queue_s);
}

std::string WhatItDoes::found_text() const {
  if (found_percent.own.empty()) return "";
  return range(found_percent.own, percent_text) + " % of prompt tokens found in a cache (" + name +
         ' ' + range(found_percent.other, percent_text) + " %)";
}

std::string WhatItDoes::text() const {
  if (name.empty()) return "";
  std::vector<std::string> parts;
  if (is_apart(recomputed_tok))
    parts.push_back(range(recomputed_tok.own, count_text) + " tokens recomputed, not " +
                    range(recomputed_tok.other, count_text));
  if (is_apart(queue_s))
    parts.push_back("mean queue " + range(queue_s.own, seconds_text) + " s, not " +
                    range(queue_s.other, seconds_text) + " s");
  if (parts.empty()) return "";
  std::string text = "beside " + name + (differs.empty() ? "" : " (" + differs + ')') + ": ";
  return text + sweep::joined(parts, "; ");
}

WhatItDoes what_it_does(const PolicyCells& policy, const PolicyCells& other) {
  std::vector<std::string> names;
  for (const std::string_view part :
       differences(parts_of(cell_of(policy)), parts_of(cell_of(other))))
    names.emplace_back(part);
  WhatItDoes made{other.variant, names.empty() ? "" : "other " + listed(names), {}, {}, {}};
  made.found_percent = pair_of(found_percent(policy), found_percent(other));
  made.recomputed_tok =
      pair_of(figure_of(policy, "recomputed_tok"), figure_of(other, "recomputed_tok"));
  made.queue_s = pair_of(figure_of(policy, "queue_mean_s"), figure_of(other, "queue_mean_s"));
  return made;
}

}  // namespace analysis
