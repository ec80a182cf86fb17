#include "driver/bundle/expected.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "analysis/claims/claims.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// Key, label and every figure that does not depend on the machine, a line a cell.
std::string figures_of(const fs::path& archive) {
  const sweep::ArchiveReader reader(archive.string());
  std::string text = "key,cell,figure,value\n";
  for (const sweep::CellRecord& cell : reader.cells()) {
    if (cell.status != sweep::CellStatus::ok) continue;
    for (const sweep::Figure& figure : cell.figures)
      if (!figure.is_volatile)
        text += cell.key + ',' + analysis::csv_field(cell.label) + ',' + figure.name.text() + ',' +
                analysis::exact_number(figure.value) + '\n';
  }
  return text;
}

std::string claims_by(const std::vector<fs::path>& archives, const fs::path& sweeps) {
  std::vector<std::string> paths;
  for (const fs::path& each : archives) paths.push_back(each.string());
  std::ostringstream text;
  print_claims(analysis::run_claims(paths, "", sweeps), analysis::GridFormat::csv, text);
  return text.str();
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool alike(const std::string& a, const std::string& b, double tolerance) {
  if (a == b) return true;
  const auto x = number_in(a), y = number_in(b);
  return x && y && std::abs(*x - *y) <= tolerance * std::max(std::abs(*x), std::abs(*y));
}

/// Fields of a line of RFC 4180 without line breaks in them.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char each : line) {
    if (each == '"') quoted = !quoted;
    if (each == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += each;
  }
  return fields;
}

}  // namespace

std::vector<fs::path> archives_of(const fs::path& bundle) {
  std::vector<fs::path> archives;
  for (const fs::directory_entry& entry : fs::directory_iterator(bundle / "archives"))
    if (entry.path().extension() == ".h5") archives.push_back(entry.path());
  std::ranges::sort(archives);
  return archives;
}

std::map<std::string, std::string> outputs_of(const fs::path& bundle) {
  std::map<std::string, std::string> outputs;
  const std::vector<fs::path> archives = archives_of(bundle);
  for (const fs::path& each : archives) outputs[each.stem().string() + ".csv"] = figures_of(each);
  outputs["claims.csv"] = claims_by(archives, bundle / "sweeps");
  return outputs;
}

std::string csv_difference(const std::string& found, const std::string& expected,
                           double tolerance) {
  const auto ours = sweep::split(found, "\n"), theirs = sweep::split(expected, "\n");
  const std::vector<std::string> names = theirs.empty() ? theirs : fields_of(theirs.front());
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const auto a = fields_of(ours[i]), b = fields_of(theirs[i]);
    for (std::size_t c = 0; c < std::max(a.size(), b.size()); ++c) {
      const std::string x = c < a.size() ? a[c] : "", y = c < b.size() ? b[c] : "";
      if (!alike(x, y, tolerance))
        return "line " + std::to_string(i + 1) + ", " + (c < names.size() ? names[c] : "") + ": " +
               x + ", expected " + y;
    }
  }
  if (ours.size() == theirs.size()) return "";
  return std::to_string(ours.size()) + " lines, expected " + std::to_string(theirs.size());
}

}  // namespace driver
