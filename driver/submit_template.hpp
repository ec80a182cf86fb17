#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace driver {

/// Placeholder -> text. A text may have several lines.
using TemplateValues = std::map<std::string, std::string>;

/// The file with every {{name}} replaced. A line with a placeholder whose text is empty is left
/// out; of empty lines in a row one stays. Throws sweep::SpecError with file and line for a
/// placeholder that nothing is known for.
std::string fill_template(const std::filesystem::path& file, const TemplateValues& values);

}  // namespace driver
