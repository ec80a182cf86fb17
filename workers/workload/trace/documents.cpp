#include "workers/workload/trace/documents.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "sweeps/files/strict_json.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/csv.hpp"

namespace workload {
namespace {

constexpr std::string_view kIdKey = "\"hash_ids\"";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kLargestDocument = std::size_t{256} << 20;

/// Where the list behind a key "hash_ids" at `key` opens; npos when no list follows.
std::size_t list_at(std::string_view text, std::size_t key) {
  if (key > 0 && text[key - 1] == '\\') return text.npos;
  std::size_t at = text.find_first_not_of(kBlank, key + kIdKey.size());
  if (at == text.npos || text[at] != ':') return text.npos;
  at = text.find_first_not_of(kBlank, at + 1);
  return at != text.npos && text[at] == '[' ? at : text.npos;
}

/// A text without its lists of ids, and where the removed bytes were.
struct Stripped {
  std::string text;
  std::vector<std::string_view> lists;
  struct Cut {
    std::size_t at;    // in `text`, behind the inserted number
    std::size_t more;  // bytes by which the original is longer up to here
  };
  std::vector<Cut> cuts;

  /// The position in the original text.
  std::size_t original(std::size_t at) const {
    std::size_t more = 0;
    for (const Cut& cut : cuts)
      if (cut.at < at) more = cut.more;
    return at + more;
  }
};

Stripped without_lists(std::string_view text) {
  Stripped out;
  std::size_t copied = 0;
  for (std::size_t key = text.find(kIdKey); key != text.npos; key = text.find(kIdKey, key + 1)) {
    const std::size_t open = list_at(text, key);
    if (open == text.npos) continue;
    const std::size_t close = text.find(']', open);
    if (close == text.npos) break;  // for the parser to refuse
    out.text.append(text.substr(copied, open + 1 - copied));
    out.text.append(std::to_string(out.lists.size()));
    out.lists.push_back(text.substr(open + 1, close - open - 1));
    out.cuts.push_back({out.text.size(), close - out.text.size()});
    copied = key = close;
  }
  out.text.append(text.substr(copied));
  return out;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  constexpr std::size_t kChunk = 1024;
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kChunk <= size && std::memcmp(a.data() + at, b.data() + at, kChunk) == 0)
    at += kChunk;
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

bool ends_number(std::string_view text, std::size_t at) {
  return at == text.size() || text[at] == ',' || text[at] == ' ';
}

bool spans_lines(std::string_view first) {
  const std::string_view text = trimmed(first);
  return text.empty() || text.back() != '}';
}

}  // namespace

IdLists::Split IdLists::read(std::string_view text, const std::string& name,
                             const InputPlace& place) {
  const std::size_t same = common_prefix(text, last_);
  auto known = std::ranges::upper_bound(ends_, same);
  if (known != ends_.begin() && !ends_number(text, known[-1])) --known;
  ends_.erase(known, ends_.end());
  Split split{static_cast<int>(ends_.size()), {}};
  std::size_t at = ends_.empty() ? 0 : ends_.back();
  while (true) {
    at = std::min(text.find_first_not_of(kBlank, at), text.size());
    if (at == text.size() && ends_.empty()) break;
    if (!ends_.empty()) {
      if (at == text.size()) break;
      if (text[at] != ',') at = text.size();
      at = std::min(text.find_first_not_of(kBlank, at + (at < text.size())), text.size());
    }
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    if (error != std::errc{})
      refuse(place, name + "[" + std::to_string(ends_.size()) +
                        "] is not a block id; allowed: whole numbers from 0 to 2^64 - 1");
    at = static_cast<std::size_t>(end - text.data());
    ends_.push_back(at);
    split.fresh.push_back(id);
  }
  last_.resize(std::min(last_.size(), same));
  last_.append(text.substr(last_.size()));
  return split;
}

TraceDocument parse_document(std::string_view text, const InputPlace& place) {
  Stripped stripped = without_lists(text);
  try {
    return {place, sweep::strict_json<Json>(stripped.text), std::move(stripped.lists)};
  } catch (const sweep::JsonRefused& refused) {
    if (stripped.lists.empty()) parse_json(text, place);  // says it with a column
    const std::string column =
        refused.byte > 0 ? ":" + std::to_string(stripped.original(refused.byte)) : "";
    throw engine::InputError(place.file + ":" + std::to_string(place.line) + column +
                             ": not valid JSON: " + refused.what());
  }
}

std::string first_line(const std::string& path) {
  LineReader lines(path);
  std::string_view line = lines.next().value_or("");
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return std::string(trimmed(line));
}

std::vector<std::string> trace_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (!fs::is_directory(path, problem)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (entry->is_regular_file(problem) && !name.starts_with('.'))
      files.push_back(entry->path().string());
  }
  if (problem) refuse({path, 0}, "cannot be read: " + problem.message());
  if (files.empty()) refuse({path, 0}, "is a folder without files; a trace is needed");
  std::ranges::sort(files);
  return files;
}

void visit_documents(const std::string& path,
                     const std::function<void(const TraceDocument&)>& visit) {
  LineReader lines(path);
  std::optional<std::string_view> line = lines.next();
  if (line && line->starts_with(kByteOrderMark)) line->remove_prefix(kByteOrderMark.size());
  if (line && spans_lines(*line)) {
    const InputPlace place = lines.place();
    std::string whole(*line);
    while ((line = lines.next())) {
      if (whole.size() + line->size() > kLargestDocument)
        refuse(place, "the document is larger than the 256 MiB allowed");
      whole.append("\n").append(*line);
    }
    return visit(parse_document(whole, place));
  }
  for (; line; line = lines.next()) visit(parse_document(*line, lines.place()));
}

std::string_view id_list(const TraceDocument& document, const JsonField& object) {
  const auto field = object.find("hash_ids");
  if (!field) object.refuse_value("has no hash_ids");
  const Json& list = field->value();
  if (!list.is_array()) field->refuse_type("a list of block ids");
  const bool known = list.size() == 1 && list[0].is_number_unsigned() &&
                     list[0].get<std::size_t>() < document.lists.size();
  if (!known) field->refuse_value("must be written without escapes in its name");
  return document.lists[list[0].get<std::size_t>()];
}

}  // namespace workload
