#pragma once
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/text/json.hpp"

namespace analysis {

// Every chart is described here, once. The pages (analysis/web/src/report/draw.ts) and
// kvsweep-figures (analysis/python/kvsweep/draw.py) read the JSON that json_of() makes.

inline constexpr double kAnywhere = std::numeric_limits<double>::quiet_NaN();

struct ChartAxis {
  std::string name{};                 // "step duration [ms]"
  std::vector<std::string> names{};   // of the places 0, 1, ...; empty: a quantity
  std::vector<std::string> beside{};  // what stands at their other ends, of a flat panel
  int log = 0;                        // base of a logarithmic axis
  double from = kAnywhere, to = kAnywhere;
  bool of_policies = false;  // the names are policies, which a reader can hide
};

/// A further column of a series: in its CSV, and under the pointer. "label" stands at its points.
struct ChartColumn {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;
};

struct ChartSeries {
  enum class Draw {
    line,
    steps,  // each y holds until the next x
    dots,
    bars,   // beside each other
    stack,  // bars on top of each other
    boxes   // from x to `end` and from y to `high`
  };
  std::string name{};
  std::string policy{};  // which gives color and dash, and hides the series with it
  std::string color{};   // otherwise: a meaning such as "vram", the number of a color, or "text"
  std::string source{};  // of its numbers, if it is not the chart's kind: "published"
  std::string mark{};    // of dots and of points on a line: "", "square", "up", "down", "right"
  Draw draw = Draw::line;
  bool dashed = false, hollow = false, points = false;
  bool quiet = false;  // neither in the legend nor under the pointer
  std::size_t repeats = 0;
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  // a range around y; of boxes, the upper edge
  std::vector<double> end{};          // of boxes
  std::vector<ChartColumn> more{};

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  void add_box(double from, double to, double bottom, double top) {
    add(from, bottom);
    end.push_back(to);
    high.push_back(top);
  }
};

/// One system of axes.
struct ChartPanel {
  std::string name;
  ChartAxis x, y;
  bool flat = false;                                  // places below each other: bars lie
  bool downward = false;                              // y counts from the top
  std::vector<ChartSeries> series;                    // the first is drawn first
  std::vector<std::pair<double, std::string>> lines;  // vertical, each with a label
};

struct Chart {
  std::string id{}, title{}, note{};
  std::string kind{}, gpu{}, settings{}, jps{};  // of its numbers
  std::map<std::string, std::string> at{};  // what tells it from others with its id: {"rate", "6"}
  std::size_t columns = 1;                  // of panels
  bool is_table = false;                    // its numbers are shown as a table
  std::string nothing{};                    // why there is nothing to see
  std::vector<ChartPanel> panels{};

  /// The panel as one that is drawn by itself.
  ChartPanel& panel() { return panels.empty() ? panels.emplace_back() : panels.front(); }
};

/// A series without x has that of the series before.
Json json_of(const Chart& chart);

/// Texts of places as one axis: of numbers, which then ascend, or of names.
struct Places {
  explicit Places(std::vector<std::string> texts, bool as_names = false);
  double at(const std::string& text) const;
  ChartAxis axis(std::string name) const;

  bool is_numeric;
  std::vector<std::string> texts;
};

}  // namespace analysis
