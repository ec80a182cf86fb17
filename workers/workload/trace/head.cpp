#include "workers/workload/trace/head.hpp"

#include "workers/workload/input/json_cursor.hpp"

namespace workload {
namespace {

constexpr int kVersion = 1;
constexpr std::int64_t kMost = 1'000'000'000'000'000;

TraceCounts read_counts(JsonCursor& in) {
  TraceCounts counts;
  for (const auto& row : kCounts) counts.*row.second = -1;
  const std::size_t at = (in.next(), in.at());
  in.object("counts", [&](const std::string& key) {
    for (const auto& [name, count] : kCounts)
      if (key == name) return void(counts.*count = in.whole(name, 0, kMost));
    in.skip();
  });
  for (const auto& [name, count] : kCounts)
    if (counts.*count < 0) in.refuse(std::string("counts has no ") + name, at);
  return counts;
}

/// "3 failed requests (they have no answer)"
std::string read_left_out(JsonCursor& in) {
  std::string what, why, count;
  in.object("left_out", [&](const std::string& key) {
    if (key == "what") return void(what = in.text("what"));
    if (key == "why") return void(why = " (" + in.text("why") + ")");
    if (key != "count") return in.skip();
    count = std::to_string(in.whole("count", 0, kMost)) + " ";
  });
  return count + what + why;
}

std::string read_file_of(JsonCursor& in) {
  std::string file;
  in.object("source", [&](const std::string& key) {
    if (key != "file") return in.skip();
    file = "of " + in.text("file") + " ";
  });
  return file;
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
  JsonCursor in(*line, lines.place());
  TraceHead head;
  std::string source, converter;
  bool versioned = false, counted = false;
  in.object("the first line", [&](const std::string& key) {
    if (key == "kvsweep_trace") {
      const std::size_t at = (in.next(), in.at());
      if (in.whole("kvsweep_trace", 0, kMost) != kVersion)
        in.refuse("kvsweep_trace must be 1, the version that this program reads", at);
      versioned = true;
    } else if (key == "counts") {
      head.counts = read_counts(in);
      counted = true;
    } else if (key == "source") {
      source = read_file_of(in);
    } else if (key == "converter") {
      converter = in.text("converter");
    } else if (key == "tokenizer") {
      head.tokenizer = in.text("tokenizer");
    } else if (key == "left_out") {
      in.array("left_out", [&] { head.notes.push_back("left out: " + read_left_out(in)); });
    } else if (key == "assumed") {
      in.array("assumed", [&] { head.assumed.push_back(in.text("assumed")); });
    } else {
      in.skip();
    }
  });
  if (!versioned) refuse_as_other(path);
  if (!counted) in.refuse("the first line has no counts", 0);
  if (converter.empty()) in.refuse("the first line has no converter", 0);
  head.notes.insert(head.notes.begin(),
                    "made " + source + "by the converter " + converter +
                        (head.tokenizer.empty() ? "" : "; tokens are counted by ") +
                        head.tokenizer);
  for (const std::string& sentence : head.assumed) head.notes.push_back("assumed: " + sentence);
  return head;
}

}  // namespace workload
