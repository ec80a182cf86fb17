#include "driver/submit/template.hpp"

#include <fstream>
#include <optional>

#include "sweeps/spec/params.hpp"

namespace driver {
namespace {

/// The line with its placeholders replaced; empty optional if one of the values is empty.
std::optional<std::string> fill_line(const std::string& line, const TemplateValues& values,
                                     const std::string& where) {
  std::string filled;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = line.find("{{", at);
    const std::size_t close = line.find("}}", open);
    filled += line.substr(at, open - at);
    if (close == std::string::npos)
      return filled + (open == std::string::npos ? "" : line.substr(open));
    const auto value = values.find(line.substr(open + 2, close - open - 2));
    if (value == values.end()) {
      throw sweep::SpecError(where + ": nothing is known for the placeholder " +
                             line.substr(open, close + 2 - open));
    }
    if (value->second.empty()) return std::nullopt;
    filled += value->second;
    at = close + 2;
  }
}

}  // namespace

std::string fill_template(const std::filesystem::path& file, const TemplateValues& values) {
  std::ifstream in(file);
  if (!in) throw sweep::SpecError(file.string() + ": the template cannot be read");
  std::string text;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = file.string() + ':' + std::to_string(++number);
    const std::optional<std::string> filled = fill_line(line, values, where);
    if (!filled || (filled->empty() && text.ends_with("\n\n"))) continue;
    text += *filled + '\n';
  }
  return text;
}

}  // namespace driver
