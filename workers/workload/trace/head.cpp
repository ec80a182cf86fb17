#include "workers/workload/trace/head.hpp"

#include "workers/workload/input/json_part.hpp"

namespace workload {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = 1'000'000'000'000'000;

TraceCounts read_counts(const json& value, const JsonPart& in) {
  TraceCounts counts;
  in.object(value, "counts");
  for (const auto& [name, count] : kCounts) {
    if (!value.contains(name)) in.refuse(std::string("counts has no ") + name);
    counts.*count = in.whole(value[name], name, 0, kMost);
  }
  return counts;
}

/// The text of a member; empty where there is none.
std::string text_at(const json& object, const char* key, const JsonPart& in) {
  return object.contains(key) ? in.text(object[key], key) : "";
}

/// The members of a list; none where there is no list.
json list_at(const json& object, const char* key, const JsonPart& in) {
  return object.contains(key) ? in.list(object[key], key) : json::array();
}

/// "3 failed requests (they have no answer)"
std::string left_out(const json& entry, const JsonPart& in) {
  in.object(entry, "left_out");
  std::string text;
  if (entry.contains("count"))
    text = std::to_string(in.whole(entry["count"], "count", 0, kMost)) + " ";
  text += text_at(entry, "what", in);
  return entry.contains("why") ? text + " (" + text_at(entry, "why", in) + ")" : text;
}

[[noreturn]] void refuse_as_other(const std::string& path) {
  refuse({path, 0},
         "is no trace of kvsweep; python3 -m kvsweep.traces FILE -o T.jsonl.gz makes one of what "
         "others recorded (docs/traces.md)");
}

}  // namespace

TraceHead read_head(LineReader& lines) {
  const auto line = lines.next();
  const std::string path = lines.place().file;
  if (!line || line->find("\"kvsweep_trace\"") == line->npos) refuse_as_other(path);
  const JsonPart in{lines.place(), ""};
  const json first = parsed_line(*line, lines.place());
  if (!in.object(first, "the first line").contains("kvsweep_trace")) refuse_as_other(path);
  if (in.whole(first["kvsweep_trace"], "kvsweep_trace", 0, kMost) != TraceHead::kVersion)
    in.refuse("kvsweep_trace must be " + std::to_string(TraceHead::kVersion) +
              ", the version that this program reads");
  if (!first.contains("counts")) in.refuse("the first line has no counts");
  TraceHead head;
  head.counts = read_counts(first["counts"], in);
  const std::string converter = text_at(first, "converter", in);
  if (converter.empty()) in.refuse("the first line has no converter");
  head.tokenizer = text_at(first, "tokenizer", in);
  const json source = first.value("source", json::object());
  const std::string file = text_at(in.object(source, "source"), "file", in);
  head.notes.push_back("made " + (file.empty() ? "" : "of " + file + " ") + "by the converter " +
                       converter + (head.tokenizer.empty() ? "" : "; tokens are counted by ") +
                       head.tokenizer);
  for (const json& entry : list_at(first, "left_out", in))
    head.notes.push_back("left out: " + left_out(entry, in));
  for (const json& sentence : list_at(first, "assumed", in))
    head.assumed.push_back(in.text(sentence, "assumed"));
  for (const std::string& sentence : head.assumed) head.notes.push_back("assumed: " + sentence);
  return head;
}

}  // namespace workload
