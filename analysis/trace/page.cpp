#include "analysis/trace/page.hpp"

#include <sstream>

#include "analysis/text/deflate.hpp"
#include "analysis/text/json_line.hpp"
#include "analysis/text/packed.hpp"
#include "analysis/trace/jsonl.hpp"

namespace analysis {
namespace {

void add_identity(JsonLine& line, const sweep::CellRecord& cell) {
  line.key("cell").integer(cell.index).key("key").text(cell.key).key("label").text(cell.label);
  line.key("backend").text(cell.backend);
  line.key("notes").open('{');
  for (const sweep::Note& note : cell.notes) line.key(note.name).text(note.text);
  line.close('}');
}

std::string json_lines(const sweep::CellResult& result) {
  std::ostringstream out;
  write_steps(result, out);
  write_events(result, out);
  write_requests(result, out);
  return std::move(out).str();
}

void add_cell(JsonLine& line, const TracedCell& traced) {
  line.open('{');
  add_identity(line, traced.cell);
  const std::string lines = json_lines(traced.result);
  const auto small = deflated({reinterpret_cast<const std::uint8_t*>(lines.data()), lines.size()});
  line.key(small ? "deflated" : "lines").text(small ? base64(*small) : lines);
  line.close('}');
}

}  // namespace

std::string trace_page(const std::string& archive, std::span<const TracedCell> cells) {
  JsonLine line;
  line.open('{').key("kind").text("trace").key("archive").text(archive).key("cells").open('[');
  for (const TracedCell& cell : cells) add_cell(line, cell);
  line.close(']').close('}');
  return std::string(line.so_far());
}

}  // namespace analysis
