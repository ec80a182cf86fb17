#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/web_page.hpp"
#include "analysis/trace/trace.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

std::filesystem::path viewer_page() {
  const auto page = find_web_page("viewer.html");
  if (!page)
    throw UsageError(
        "--view: this kvsweep was built without its web pages (npm was not there); take those of "
        "another build with -DKVSWEEP_WEB_ASSETS=DIR, or print the trace without --view");
  return *page;
}

int view(const Options& options, sweep::ArchiveReader& reader) {
  const std::filesystem::path page = viewer_page();
  std::vector<const sweep::CellRecord*> cells{&finished_cell(reader, options.arguments[1])};
  if (options.beside) cells.push_back(&finished_cell(reader, *options.beside));
  for (const sweep::CellRecord* cell : cells) require_seen_steps(*cell);
  std::vector<analysis::TracedCell> traced;
  for (const sweep::CellRecord* cell : cells)
    traced.push_back({*cell, reader.load(cell->index).result});
  const std::string archive = std::filesystem::path(options.arguments[0]).filename().string();
  const std::string json = analysis::trace_page(archive, traced);

  const std::filesystem::path path = options.output.value_or("trace.html");
  analysis::write_file(path, [&](std::ostream& out) { analysis::write_web_page(page, json, out); });
  std::cout << "Trace viewer: " << analysis::terminal_text(path.string()) << '\n';
  return kOk;
}

bool is_perfetto(const Options& options) {
  const std::string format = options.format.value_or("jsonl");
  if (format != "perfetto" && format != "jsonl")
    throw UsageError("--format must be jsonl or perfetto, found " + format);
  return format == "perfetto";
}

}  // namespace

int trace(const Options& options) {
  const bool part = options.steps || options.events || options.requests;
  const bool perfetto = is_perfetto(options);
  if (options.beside && !options.view) throw UsageError("--beside belongs to --view");
  if (part && (options.view || perfetto))
    throw UsageError(
        "--view and --format perfetto show everything: --steps, --events and "
        "--requests exclude them");
  if (options.view && options.format) throw UsageError("--view and --format exclude each other");
  sweep::ArchiveReader reader = open_archive(options.arguments[0]);
  if (options.view) return view(options, reader);
  const sweep::CellRecord& cell = finished_cell(reader, options.arguments[1]);
  if (perfetto || options.steps || options.events) require_seen_steps(cell);
  const sweep::CellResult result = reader.load(cell.index).result;
  write_output(options, [&](std::ostream& out) {
    if (perfetto) return analysis::write_perfetto(result, out);
    if (!part || options.steps) analysis::write_steps(result, out);
    if (!part || options.events) analysis::write_events(result, out);
    if (!part || options.requests) analysis::write_requests(result, out);
  });
  if (options.output)
    std::cout << "Trace: " << analysis::terminal_text(options.output->string())
              << (perfetto ? ", open it at ui.perfetto.dev\n" : "\n");
  return kOk;
}

}  // namespace driver
