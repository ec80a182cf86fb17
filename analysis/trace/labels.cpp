#include "analysis/trace/labels.hpp"

#include <charconv>

namespace analysis {

TraceLabels::TraceLabels(const std::vector<sweep::Note>& notes) {
  for (const sweep::Note& note : notes) {
    if (note.name == "policy") policy = note.text;
    if (note.name == "cell") cell = note.text;
    if (note.name == "connector") connector = note.text;
    if (note.name == "block_size") {
      std::from_chars(note.text.data(), note.text.data() + note.text.size(), block_size);
    }
  }
}

void add_label(JsonLine& line, std::string_view name, const std::string& text) {
  if (!text.empty()) line.key(name).text(text);
}

}  // namespace analysis
