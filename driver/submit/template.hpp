#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace driver {

/// Placeholder -> text. A text may have several lines.
using TemplateValues = std::map<std::string, std::string>;

/// Returns the file with every {{name}} replaced. Drops a line if the text of one of its
/// placeholders is empty, and keeps one of several consecutive empty lines. Throws sweep::SpecError
/// with file and line for an unknown placeholder.
std::string fill_template(const std::filesystem::path& file, const TemplateValues& values);

}  // namespace driver
