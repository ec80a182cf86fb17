#include "analysis/trace/page.hpp"

#include <sstream>

#include "analysis/text/json.hpp"
#include "analysis/text/packed.hpp"
#include "analysis/trace/jsonl.hpp"

namespace analysis {
namespace {

Json json_of(const TracedCell& traced) {
  const sweep::CellRecord& cell = traced.cell;
  Json notes = Json::object();
  for (const sweep::Note& note : cell.notes) notes[note.name.text()] = note.text;
  std::ostringstream out;
  write_steps(traced.result, out);
  write_events(traced.result, out);
  write_requests(traced.result, out);
  return {{"cell", cell.index},      {"key", cell.key}, {"label", cell.label},
          {"backend", cell.backend}, {"notes", notes},  {"deflated", packed(out.str())}};
}

}  // namespace

std::string trace_page(const std::string& archive, std::span<const TracedCell> cells) {
  Json page = {{"kind", "trace"}, {"archive", archive}, {"cells", Json::array()}};
  for (const TracedCell& cell : cells) page["cells"].push_back(json_of(cell));
  return text_of(page);
}

}  // namespace analysis
