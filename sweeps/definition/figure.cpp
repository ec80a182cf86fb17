#include "sweeps/definition/figure.hpp"

#include <algorithm>
#include <sstream>

#include "sweeps/definition/messages.hpp"

namespace sweep {
namespace {

constexpr std::string_view kFigure = "figure.", kPublished = "published.";

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
  FigureParser(std::string name, Location where) : where_(std::move(where)) {
    figure_.name = std::move(name);
  }
  bool is_of(const std::string& name) const { return figure_.name == name; }

  void add(const std::string& key, const Param& param) {
    const std::size_t end = key.find('.') + 1;  // 0: the key is in no further table
    const std::string table = key.substr(0, end), name = key.substr(end);
    if (table == "where.") {
      figure_.where[name] = split(bare_text(param.value), kOr);
    } else if (table == kPublished) {
      add_published(key, param);
    } else if (table == "x_value.") {
      figure_.x_value.add(name, bare_text(param.value));
    } else if (table == "series_name.") {
      figure_.series_name.add(name, bare_text(param.value));
    } else if (table == "panel_name.") {
      figure_.panel_name.add(name, bare_text(param.value));
    } else {
      plain_[key] = param;
    }
  }

  ChartSpec finish(const std::string& document, const std::string& sweep,
                   const std::string& source) {
    ParamReader reader(plain_, document + ", figure " + figure_.name);
    figure_.title = reader.text("title", figure_.name);
    figure_.note = reader.text("note", "");
    figure_.source = reader.text("source", source);
    figure_.experiments = split(reader.text("experiment", sweep), kOr);
    read_kind(figure_.over, reader, "over", {"cells", "forwards", "time", "requests"});
    read_kind(figure_.draw, reader, "draw", {"lines", "bars", "table"});
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
    check();
    return std::move(figure_);
  }

 private:
  void add_published(const std::string& key, const Param& param) {
    const std::string place = key.substr(kPublished.size());
    if (place.find('.') == std::string::npos)
      fail_at(param.where, key + " must be of the form published.SERIES.X");
    figure_.published.push_back({place, as_number(key, param)});
  }

  /// `words` are those of the enumerators, the default first.
  template <class Kind>
  static void read_kind(Kind& kind, ParamReader& reader, const char* key,
                        const std::vector<std::string>& words) {
    const std::string word = reader.choice(key, words.front(), words);
    kind = static_cast<Kind>(std::ranges::find(words, word) - words.begin());
  }

  void check() const {
    const bool of_cells = figure_.over == ChartSpec::Over::cells;
    const bool needs_y = of_cells || figure_.over == ChartSpec::Over::forwards;
    if (figure_.experiments.empty())
      fail_at(where_, "figure " + figure_.name + " must name its experiment");
    if (of_cells && figure_.x.empty())
      fail_at(where_, "figure " + figure_.name + " must give x: the key that its cells differ in");
    if (needs_y && figure_.y.empty())
      fail_at(where_, "figure " + figure_.name + " must give y: what it shows of a cell");
  }

  ChartSpec figure_;
  Location where_;  // of its first key
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
  std::ranges::sort(in_order, {}, [](const auto& entry) {
    return std::pair(entry.second->where.line, entry.second->where.column);
  });
  std::vector<FigureParser> parsers;
  for (const auto& [key, param] : in_order) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos)
      fail_at(param->where, "a figure is written as [figure.NAME], found the key figure." + key);
    const std::string name = key.substr(0, dot);
    auto found = std::ranges::find_if(parsers, [&](const auto& each) { return each.is_of(name); });
    if (found == parsers.end()) found = parsers.emplace(found, name, param->where);
    found->add(key.substr(dot + 1), *param);
  }
  std::vector<ChartSpec> figures;
  for (FigureParser& each : parsers) figures.push_back(each.finish(document, sweep, source));
  return figures;
}

}  // namespace sweep
