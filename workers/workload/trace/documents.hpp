#pragma once
// Private to this room.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// A JSON document with the contents of its "hash_ids" lists apart: they are most of its bytes, and
/// consecutive lists begin alike.
struct TraceDocument {
  InputPlace place;
  Json json;                            // each list "hash_ids" holds its position in `id_lists`
  std::vector<std::string_view> lists;  // texts between the brackets; valid during the visit
};

/// Ids are whole numbers below 2^64, separated by commas.
class IdLists {
 public:
  struct Split {
    int shared = 0;  // leading ids that the list read before has, too
    std::vector<std::uint64_t> fresh;
  };
  /// `name` and `place` are for messages.
  Split read(std::string_view text, const std::string& name, const InputPlace& place);

 private:
  std::string last_;
  std::vector<std::size_t> ends_;  // behind each id of last_
};

/// Separates the lists and parses the rest. Throws engine::InputError with line and column.
TraceDocument parse_document(std::string_view text, const InputPlace& place);

/// What a file begins with: the first line that is not blank, without a byte order mark.
std::string first_line(const std::string& path);

/// All files of a trace: the file itself, or those of a folder by name.
std::vector<std::string> trace_files(const std::string& path);

/// Visits every document of a file: a line each, or one that spans the whole file.
void visit_documents(const std::string& path,
                     const std::function<void(const TraceDocument&)>& visit);

/// The list "hash_ids" of an object; refuses one that is missing.
std::string_view id_list(const TraceDocument& document, const JsonField& object);

}  // namespace workload
