#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/definition/params.hpp"

namespace sweep {

/// How values are shown, in the order written. One '*' in a pattern stands for any text, and one in
/// its replacement for the same text.
class Renames {
 public:
  void add(std::string pattern, std::string text);
  /// `value` itself where nothing matches.
  std::string operator()(const std::string& value) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// A published value, by the names that the figure shows: "SERIES.X" or "PANEL.SERIES.X".
struct PublishedPoint {
  std::string place;
  double y;
};

/// A figure of a study and its cells: a table [figure.NAME] of a sweep file or
/// of a file in sweeps/published. docs/extending.md explains the keys.
struct ChartSpec {
  enum class Over {
    cells,     // a figure of /cells at a value of the cell's configuration
    forwards,  // a column of /steps, pass by pass
    time,      // KV use of device and host, with evictions and resumptions
    requests   // what each request does and waits for
  };
  enum class Draw { lines, bars, table };

  std::string name, title, source, note;
  std::vector<std::string> experiments;                   // names of sweeps
  std::map<std::string, std::vector<std::string>> where;  // key to the values that count
  Over over = Over::cells;
  Draw draw = Draw::lines;
  std::vector<std::string> x, series, panel;  // keys, shown one after another
  Renames x_value, series_name, panel_name;
  std::string x_name, y, y_name;
  bool log_x = false, log_y = false;
  int first = 0;  // forward passes shown; 0: all
  std::vector<PublishedPoint> published;
};

/// The tables [figure.NAME] among `params`, in the order written; other keys are left alone. A
/// figure without experiments is of `sweep`. Throws SpecError.
std::vector<ChartSpec> figures_of(const ParamMap& params, const std::string& document,
                                  const std::string& sweep, const std::string& source);

}  // namespace sweep
