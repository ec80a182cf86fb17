#include "sweeps/definition/figure.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "sweeps/definition/messages.hpp"

namespace sweep {
namespace {

constexpr std::string_view kFigure = "figure.", kWhere = "where.", kPublished = "published.";

constexpr std::string_view kOr = " | ";  // between alternatives

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

/// Takes one table apart: its plain keys through `reader`, its lists here.
class FigureParser {
 public:
  FigureParser(std::string name, const std::string& document) : document_(document) {
    figure_.name = std::move(name);
  }

  void add(const std::string& key, const Param& param) {
    if (key.starts_with(kWhere)) {
      figure_.where[key.substr(kWhere.size())] = split(bare_text(param.value), kOr);
    } else if (key.starts_with(kPublished)) {
      add_published(key, param);
    } else if (!add_name(key, param, "x_value.", figure_.x_value) &&
               !add_name(key, param, "series_name.", figure_.series_name) &&
               !add_name(key, param, "panel_name.", figure_.panel_name)) {
      plain_[key] = param;
    }
  }

  ChartSpec finish(const std::string& sweep, const std::string& source, const Location& where) {
    ParamReader reader(plain_, document_ + ", figure " + figure_.name);
    figure_.title = reader.text("title", figure_.name);
    figure_.note = reader.text("note", "");
    figure_.source = reader.text("source", source);
    figure_.experiments = split(reader.text("experiment", sweep), kOr);
    read_kind(reader);
    figure_.x = words(reader.text("x", ""));
    figure_.series = words(reader.text("series", ""));
    figure_.panel = words(reader.text("panel", ""));
    figure_.y = reader.text("y", "");
    figure_.x_name = reader.text("x_name", reader.text("x", ""));
    figure_.y_name = reader.text("y_name", figure_.y);
    figure_.first = static_cast<int>(reader.integer("first", 0, 0, 1'000'000));
    const std::string log = reader.choice("log", "", {"", "x", "y", "xy"});
    figure_.log_x = log.find('x') != std::string::npos;
    figure_.log_y = log.find('y') != std::string::npos;
    reader.reject_unknown();
    check(where);
    return std::move(figure_);
  }

 private:
  void add_published(const std::string& key, const Param& param) {
    const std::string place = key.substr(kPublished.size());
    if (place.find('.') == std::string::npos)
      fail_at(param.where, key + " must be of the form published.SERIES.X");
    figure_.published.push_back({place, as_number(key, param)});
  }

  static bool add_name(const std::string& key, const Param& param, std::string_view prefix,
                       Renames& names) {
    if (!key.starts_with(prefix)) return false;
    names.add(key.substr(prefix.size()), bare_text(param.value));
    return true;
  }

  void read_kind(ParamReader& reader) {
    using Over = ChartSpec::Over;
    using Draw = ChartSpec::Draw;
    const std::vector<std::string> overs = {"cells", "forwards", "time", "requests"},
                                   draws = {"lines", "bars", "table"};
    const auto place = [](const std::vector<std::string>& all, const std::string& one) {
      return std::find(all.begin(), all.end(), one) - all.begin();
    };
    figure_.over = static_cast<Over>(place(overs, reader.choice("over", "cells", overs)));
    figure_.draw = static_cast<Draw>(place(draws, reader.choice("draw", "lines", draws)));
  }

  void check(const Location& where) const {
    const bool of_cells = figure_.over == ChartSpec::Over::cells;
    const bool needs_y = of_cells || figure_.over == ChartSpec::Over::forwards;
    if (figure_.experiments.empty())
      fail_at(where, "figure " + figure_.name + " must name its experiment");
    if (of_cells && figure_.x.empty())
      fail_at(where, "figure " + figure_.name + " must give x: the key that its cells differ in");
    if (needs_y && figure_.y.empty())
      fail_at(where, "figure " + figure_.name + " must give y: what it shows of a cell");
  }

  const std::string& document_;
  ChartSpec figure_;
  ParamMap plain_;
};

}  // namespace

void Renames::add(std::string pattern, std::string text) {
  entries_.emplace_back(std::move(pattern), std::move(text));
}

std::string Renames::operator()(const std::string& value) const {
  for (const auto& [pattern, text] : entries_) {
    if (pattern == value) return text;
    const std::size_t star = pattern.find('*');
    if (star == std::string::npos || value.size() + 1 < pattern.size()) continue;
    const std::string_view before = std::string_view(pattern).substr(0, star),
                           behind = std::string_view(pattern).substr(star + 1);
    if (!value.starts_with(before) || !value.ends_with(behind)) continue;
    std::string shown = text;
    if (const std::size_t at = shown.find('*'); at != std::string::npos)
      shown.replace(at, 1, value.substr(star, value.size() - before.size() - behind.size()));
    return shown;
  }
  return value;
}

std::vector<ChartSpec> figures_of(const ParamMap& params, const std::string& document,
                                  const std::string& sweep, const std::string& source) {
  std::vector<std::pair<std::string, const Param*>> in_order;
  for (const auto& [key, param] : params)
    if (key.starts_with(kFigure)) in_order.emplace_back(key.substr(kFigure.size()), &param);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    const Location &x = a.second->where, &y = b.second->where;
    return std::tie(x.line, x.column) < std::tie(y.line, y.column);
  });
  std::vector<std::pair<std::string, FigureParser>> parsers;
  std::map<std::string, Location> starts;
  for (const auto& [key, param] : in_order) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos)
      fail_at(param->where, "a figure is written as [figure.NAME], found the key figure." + key);
    const std::string name = key.substr(0, dot);
    if (starts.emplace(name, param->where).second)
      parsers.emplace_back(name, FigureParser(name, document));
    const auto found = std::find_if(parsers.begin(), parsers.end(),
                                    [&](const auto& each) { return each.first == name; });
    found->second.add(key.substr(dot + 1), *param);
  }
  std::vector<ChartSpec> figures;
  for (auto& [name, parser] : parsers)
    figures.push_back(parser.finish(sweep, source, starts.at(name)));
  return figures;
}

}  // namespace sweep
