#include "workers/workload/trace/read_trace.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <variant>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/documents.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

using Reader = void (*)(const std::string& path, TraceSet& set);
using TextReader = void (*)(const std::string& path, const Tokenizer& tokenizer, TraceSet& set);
struct Format {
  const char* name;
  std::variant<Reader, TextReader> read;
};
constexpr std::array<Format, 8> kFormats = {{{"weka", read_weka},
                                             {"mooncake", read_mooncake},
                                             {"qwen", read_qwen},
                                             {"azure", read_request_csv},
                                             {"tracelab", read_tracelab},
                                             {"lengths", read_lengths},
                                             {"messages", read_messages},
                                             {"sharegpt", read_sharegpt}}};

bool has(std::string_view text, const char* key) {
  return text.find('"' + std::string(key) + '"') != text.npos;
}

/// The format that the keys of the first document belong to.
const char* format_of_document(const std::string& path) {
  std::string head = first_line(path);
  if (head.empty() || head.back() != '}') {
    constexpr std::size_t kEnough = 1 << 16;
    LineReader lines(path);
    head.clear();
    while (const auto line = lines.next()) {
      head.append(*line);
      if (head.size() > kEnough) break;
    }
  }
  if (has(head, "requests") && has(head, "hash_ids")) return "weka";
  if (has(head, "chat_id") && has(head, "hash_ids")) return "qwen";
  if (has(head, "hash_ids")) return "mooncake";
  if (has(head, "round_index") && has(head, "session_id")) return "tracelab";
  if (has(head, "messages")) return "messages";
  if (has(head, "conversations")) return "sharegpt";
  return nullptr;
}

std::string detected(const std::string& path) {
  const auto format = known_format(path);
  if (!format) {
    std::string known;
    for (const Format& each : kFormats) known += std::string(known.empty() ? "" : ", ") + each.name;
    refuse({path, 0}, "is of no known format of traces; allowed: " + known);
  }
  return *format;
}

void check_unique(const TraceSet& set) {
  std::set<std::string_view> ids;
  for (const TraceSession& session : set.sessions)
    if (!ids.insert(session.id).second)
      refuse({session.file, session.line},
             "session \"" + session.id + "\" occurs twice; ids must be unique");
}

void read_part(const Format& format, const std::string& path, const std::string& tokenizer,
               TraceSet& part) {
  if (const auto* read = std::get_if<Reader>(&format.read)) return (*read)(path, part);
  const auto counts = tokenizer.empty() ? byte_estimate_tokenizer() : load_tokenizer(tokenizer);
  std::get<TextReader>(format.read)(path, *counts, part);
}

void read_file(const std::string& path, const std::string& format, const std::string& tokenizer,
               TraceSet& set) {
  const std::string name = format_of(path, format);
  if (set.format.empty()) set.format = name;
  if (set.format != name)
    refuse({path, 0}, "is " + name + ", but the folder's first file is " + set.format +
                          "; allowed: one format in a folder");
  const auto* reader =
      std::ranges::find_if(kFormats, [&](const Format& each) { return name == each.name; });
  TraceSet part;
  std::swap(part.tools, set.tools);
  read_part(*reader, path, tokenizer, part);
  std::swap(part.tools, set.tools);
  for (TraceSession& session : part.sessions) set.sessions.push_back(std::move(session));
  for (std::string& note : part.notes)
    if (std::ranges::find(set.notes, note) == set.notes.end()) set.notes.push_back(std::move(note));
}

}  // namespace

std::optional<std::string> known_format(const std::string& path) {
  const std::string line = first_line(path);
  const char* format = nullptr;
  if (line.starts_with('{') || line.starts_with('[')) {
    format = format_of_document(path);
  } else if (line.find("ContextTokens") != line.npos || line.find("Request tokens") != line.npos) {
    format = "azure";
  } else if (lists_lengths(path)) {
    format = "lengths";
  }
  return format == nullptr ? std::nullopt : std::optional<std::string>(format);
}

std::string format_of(const std::string& path, const std::string& asked) {
  return asked == "auto" ? detected(path) : asked;
}

const std::vector<std::string>& trace_formats() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Format& each : kFormats) names.emplace_back(each.name);
    return names;
  }();
  return kNames;
}

TraceSet read_trace(const std::string& path, const std::string& format,
                    const std::string& tokenizer) {
  if (format != "auto" && std::ranges::find(trace_formats(), format) == trace_formats().end())
    throw engine::InputError(path + ": no such format of traces: " + format);
  return sweep::fitting_memory<engine::InputError>(path, [&] {
    TraceSet set;
    set.source = std::filesystem::path(path).filename().string();
    for (const std::string& file : trace_files(path)) read_file(file, format, tokenizer, set);
    if (set.sessions.empty()) refuse({path, 0}, "holds no session");
    check_unique(set);
    return set;
  });
}

}  // namespace workload
