#include "analysis/answer/contrasts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "analysis/answer/place_names.hpp"
#include "analysis/answer/sentences.hpp"
#include "analysis/cell/statistics.hpp"
#include "analysis/compare/decision.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(
      "must be of the form \"POLICY / POLICY\" or \"POLICY / POLICY at KEY=VALUE[,VALUE] ...\", "
      "found \"" +
      text + '"');
}

Texts split(const std::string& text, char separator) {
  Texts parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

bool holds(const Contrast& contrast, const ConfiguredCell& cell) {
  return std::ranges::all_of(contrast.at, [&](const auto& condition) {
    const std::string own = shown(cell.value(condition.first));
    return std::ranges::find(condition.second, own) != condition.second.end();
  });
}

std::string p_text(double p) {
  if (std::isnan(p)) return "";
  if (p < 0.001) return ", p < 0.001";
  char text[16];
  std::snprintf(text, sizeof text, ", p = %.3f", p);
  return text;
}

}  // namespace

Contrast parse_contrast(const std::string& text) {
  const std::size_t at = text.find(" at ");
  const std::string pair = text.substr(0, at);
  const std::size_t slash = pair.find(" / ");
  if (slash == std::string::npos) refuse(text);
  Contrast contrast{pair.substr(0, slash), pair.substr(slash + 3), {}};
  if (contrast.value.empty() || contrast.base.empty() || contrast.value == contrast.base)
    refuse(text);
  if (at == std::string::npos) return contrast;
  for (const std::string& word : split(text.substr(at + 4), ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) refuse(text);
    contrast.at.emplace_back(word.substr(0, equals), split(word.substr(equals + 1), ','));
    if (contrast.at.back().second.empty()) refuse(text);
  }
  if (contrast.at.empty()) refuse(text);
  return contrast;
}

std::vector<Contrast> contrasts_of(const sweep::SweepSpec& spec) {
  std::vector<Contrast> contrasts;
  for (const sweep::Param& each : spec.contrasts) {
    try {
      contrasts.push_back(parse_contrast(sweep::bare_text(each.value)));
    } catch (const std::invalid_argument& error) {
      throw sweep::SpecError(sweep::to_text(each.where) + ": a value of sweep.contrasts " +
                             error.what());
    }
  }
  return contrasts;
}

std::vector<ContrastResult> contrast_results(std::span<const Contrast> contrasts,
                                             std::span<const RateRow> rows,
                                             std::string_view figure) {
  std::vector<ContrastResult> results;
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    for (const RateRow& row : rows) {
      const PolicyCells *value = row.named(contrasts[i].value),
                        *base = row.named(contrasts[i].base);
      if (value == nullptr || base == nullptr || !holds(contrasts[i], *value->repeats.front()))
        continue;
      results.push_back(
          {i, row.place, row.jps,
           ratio_of(by_seed(value->repeats, figure), by_seed(base->repeats, figure))});
    }
  }
  std::vector<double*> family;
  for (ContrastResult& each : results) family.push_back(&each.ratio.p);
  adjust_by_holm(family);
  return results;
}

std::vector<std::string> contrast_lines(std::span<const Contrast> contrasts,
                                        std::span<const ContrastResult> results) {
  PlaceNames names;
  for (const ContrastResult& each : results) names.add(each.place);
  Texts lines;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ContrastResult& each = results[i];
    const bool goes_on =
        i > 0 && results[i - 1].contrast == each.contrast && results[i - 1].place == each.place;
    const Contrast& contrast = contrasts[each.contrast];
    if (!goes_on)
      lines.push_back(contrast.value + " / " + contrast.base + ": " + names(each.place) + ": ");
    const std::string where = at_rates({each.jps});
    lines.back() += (goes_on ? "; " : "") + where + (where.empty() ? "" : " ") +
                    ratio_text(each.ratio) + p_text(each.ratio.p);
  }
  return lines;
}

}  // namespace analysis
