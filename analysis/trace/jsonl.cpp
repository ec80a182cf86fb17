#include "analysis/trace/jsonl.hpp"

#include "analysis/text/new_file.hpp"

namespace analysis {
namespace {

std::filesystem::path with_suffix(std::filesystem::path prefix, const char* suffix) {
  prefix += suffix;
  return prefix;
}

}  // namespace

void write_trace(const sweep::CellResult& result, const std::filesystem::path& prefix) {
  NewFile steps(with_suffix(prefix, ".steps.jsonl"));
  NewFile events(with_suffix(prefix, ".events.jsonl"));
  NewFile requests(with_suffix(prefix, ".requests.jsonl"));
  steps.fill([&](std::ostream& out) { write_steps(result, out); });
  events.fill([&](std::ostream& out) { write_events(result, out); });
  requests.fill([&](std::ostream& out) { write_requests(result, out); });
  steps.commit();
  events.commit();
  requests.commit();
}

}  // namespace analysis
