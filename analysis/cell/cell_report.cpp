#include "analysis/cell/cell_report.hpp"

#include <ostream>

#include "analysis/text/json_line.hpp"

namespace analysis {
namespace {

std::optional<sweep::Value> parameter(const sweep::Cell& cell, const std::string& name) {
  const auto found = cell.params.find(name);
  if (found == cell.params.end()) return std::nullopt;
  return found->second.value;
}

/// Writes a value as JSON; an integer of the sweep file stays an integer.
struct AddValue {
  JsonLine& line;
  void operator()(bool value) const { line.boolean(value); }
  void operator()(std::int64_t value) const { line.integer(value); }
  void operator()(double value) const { line.number(value); }
  void operator()(const std::string& value) const { line.text(value); }
};

/// Writes a key that may need escaping, e.g. the name of an axis.
JsonLine& add_key(JsonLine& line, std::string_view name) {
  JsonLine quoted;
  quoted.text(name);
  return line.raw_key(quoted.so_far());
}

void add_figure(JsonLine& line, const sweep::Figure& figure) {
  add_key(line, figure.name).open('{');
  line.key("value").number(figure.value).key("unit").text(figure.unit).close('}');
}

void add_cell(JsonLine& line, const CellReport& cell) {
  line.open('{').key("index").integer(cell.index);
  line.key("key").text(cell.key).key("label").text(cell.label);
  line.key("status").text(sweep::to_text(cell.status)).key("reason").text(cell.reason);
  line.key("axes").open('{');
  for (const auto& [name, value] : cell.axes) {
    add_key(line, name);
    std::visit(AddValue{line}, value);
  }
  line.close('}');
  line.key("repeat").integer(cell.repeat).key("seed").integer(cell.seed);
  line.key("figures").open('{');
  for (const sweep::Figure& figure : cell.figures) add_figure(line, figure);
  line.close('}').key("notes").open('{');
  for (const sweep::Note& note : cell.notes) add_key(line, note.name).text(note.text);
  line.close('}').close('}');
}

}  // namespace

CellReport report_of(const sweep::Cell& cell, const std::string& key, const std::string& label) {
  CellReport report;
  report.index = cell.index;
  report.key = key;
  report.label = label;
  report.status = cell.status;
  report.reason = cell.reason;
  report.axes = cell.axes;
  report.policy = parameter(cell, "policy");
  report.jps = parameter(cell, "jps");
  report.repeat = cell.repeat;
  report.seed = cell.seed;
  return report;
}

double figure_value(const CellReport& report, std::string_view name) {
  for (const sweep::Figure& figure : report.figures) {
    if (figure.name == name) return figure.value;
  }
  return sweep::kNotObserved;
}

void write_cells_jsonl(std::span<const CellReport> cells, std::ostream& out) {
  JsonLine line;
  for (const CellReport& cell : cells) {
    add_cell(line, cell);
    line.end_line(out);
  }
  flush_checked(out);
}

}  // namespace analysis
