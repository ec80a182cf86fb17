#include "driver/command_line/archive_argument.hpp"

#include <iostream>

#include "analysis/compare/published.hpp"
#include "analysis/text/list.hpp"
#include "analysis/text/new_file.hpp"
#include "sweeps/definition/selection.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {
namespace {

constexpr std::size_t kLeastDigits = 8;

sweep::Cell as_cell(const analysis::ConfiguredCell& configured) {
  const sweep::CellRecord& record = *configured.record;
  sweep::Cell cell;
  cell.index = record.index;
  for (const auto& [key, value] : configured.config) cell.params[key] = {value, {}};
  // The axis has a policy's label; the name that the sweep gives it is in the configuration.
  for (const auto& [key, value] : record.axes)
    if (key != "policy" || !cell.params.contains(key)) cell.params[key] = {value, {}};
  if (const auto profile = configured.value("server.profile"))
    cell.params["server.profile"] = {*profile, {}};
  cell.axes = record.axes;
  cell.repeat = record.repeat;
  cell.seed = record.seed;
  cell.status = record.status;
  return cell;
}

bool is_index(const std::string& word) {
  return !word.empty() && word.size() < kLeastDigits &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

bool is_key_prefix(const std::string& word) {
  return word.size() >= kLeastDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

int find_by_key(const std::vector<sweep::CellRecord>& cells, const std::string& prefix) {
  std::vector<int> found;
  for (const sweep::CellRecord& cell : cells)
    if (cell.key.starts_with(prefix)) found.push_back(cell.index);
  if (found.empty()) throw UsageError("no cell has a key that starts with " + prefix);
  if (found.size() > 1) {
    throw UsageError(prefix + " is the start of " + std::to_string(found.size()) +
                     " cells' keys, among them cells " + std::to_string(found[0]) + " and " +
                     std::to_string(found[1]) + "; give more digits");
  }
  return found.front();
}

/// A label that several cells have means the only one with a result.
std::optional<int> find_by_label(const std::vector<sweep::CellRecord>& cells,
                                 const std::string& label) {
  std::vector<int> all, ok;
  for (const sweep::CellRecord& cell : cells) {
    if (cell.label != label) continue;
    all.push_back(cell.index);
    if (cell.status == sweep::CellStatus::ok) ok.push_back(cell.index);
  }
  if (all.empty()) return std::nullopt;
  if (ok.size() == 1 || all.size() == 1) return (ok.empty() ? all : ok).front();
  const auto numbers = analysis::mapped(all, [](int each) { return std::to_string(each); });
  throw UsageError("several cells have the label \"" + label + "\": name one by its number, " +
                   sweep::joined(numbers));
}

}  // namespace

void using_files(const std::function<void()>& use) {
  try {
    use();
  } catch (const sweep::ReadFailed&) {
    throw;
  } catch (const sweep::FileError& error) {
    throw UsageError(error.what());
  }
}

sweep::ArchiveReader open_archive(const std::string& path) {
  std::optional<sweep::ArchiveReader> opened;
  using_files([&] { opened.emplace(path); });
  return std::move(*opened);
}

std::vector<analysis::ConfiguredCell> selected_cells(const std::vector<sweep::CellRecord>& cells,
                                                     const CellChoice& choice) {
  std::vector<analysis::ConfiguredCell> chosen(cells.begin(), cells.end());
  const std::vector<sweep::Cell> plain = analysis::mapped(chosen, as_cell);
  const sweep::Selection selection(plain, choice.only, choice.skip, analysis::read_label);
  auto at = plain.begin();
  std::erase_if(chosen, [&](const auto&) { return !selection.contains(*at++); });
  return chosen;
}

std::vector<analysis::ConfiguredCell> selected_cells(sweep::ArchiveReader& archive,
                                                     const CellChoice& choice) {
  std::vector<analysis::ConfiguredCell> chosen = selected_cells(archive.cells(), choice);
  for (analysis::ConfiguredCell& cell : chosen)
    analysis::derive_figures(cell, archive, cell.record->index);
  return chosen;
}

std::vector<analysis::ConfiguredCell> finished_cells(const std::vector<sweep::CellRecord>& cells,
                                                     const CellChoice& choice) {
  std::vector<analysis::ConfiguredCell> chosen = selected_cells(cells, choice);
  std::erase_if(chosen,
                [](const auto& cell) { return cell.record->status != sweep::CellStatus::ok; });
  return chosen;
}

std::string results_text(const sweep::ArchiveReader& archive) {
  const auto done =
      std::ranges::count(archive.cells(), sweep::CellStatus::ok, &sweep::CellRecord::status);
  return std::to_string(archive.cells().size()) + " cells, " + std::to_string(done) +
         " with a result";
}

int find_cell(const std::vector<sweep::CellRecord>& cells, const std::string& word) {
  if (is_key_prefix(word)) return find_by_key(cells, word);
  if (!is_index(word)) {
    if (const auto labeled = find_by_label(cells, word)) return *labeled;
    throw UsageError(
        "CELL must be a plan index, 8 or more hex digits of a key or a cell's label, "
        "found \"" +
        word + '"');
  }
  const auto index = static_cast<std::size_t>(std::stoi(word));
  if (index < cells.size()) return static_cast<int>(index);
  throw UsageError("there is no cell " + word + "; the plan has " + std::to_string(cells.size()) +
                   " cells, from 0");
}

bool has_logged_steps(const sweep::CellRecord& cell) {
  const sweep::Note* note = sweep::find_named(cell.notes, "server_steps");
  return cell.backend == "server" && note != nullptr && !note->text.empty();
}

void require_seen_steps(const sweep::CellRecord& cell) {
  if (cell.backend != "server" || has_logged_steps(cell)) return;
  throw UsageError("cell " + std::to_string(cell.index) + " (" + cell.label +
                   ") is of backend server, whose steps are not seen without `steps = true` in "
                   "[server]");
}

void require_table(const sweep::CellRecord& cell, std::string_view table) {
  const std::string lack = sweep::lack_of_table(cell, table);
  if (lack.empty()) return;
  throw UsageError(lack + "; `kvsweep run --record " +
                   std::string(sweep::to_text(sweep::level_of_table(table))) +
                   "` runs it again with them");
}

const sweep::CellRecord& finished_cell(const sweep::ArchiveReader& reader,
                                       const std::string& word) {
  const int row = find_cell(reader.cells(), word);
  const sweep::CellRecord& cell = reader.cells()[static_cast<std::size_t>(row)];
  if (cell.status != sweep::CellStatus::ok) {
    throw UsageError("cell " + std::to_string(row) + " (" + cell.label +
                     ") has no result: " + std::string(sweep::to_text(cell.status)) +
                     (cell.reason.empty() ? "" : ": " + cell.reason));
  }
  require_table(cell, "steps");
  return cell;
}

analysis::GridFormat grid_format(const Options& options) {
  const std::string format = options.format.value_or("text");
  if (format == "text") return analysis::GridFormat::text;
  if (format == "csv") return analysis::GridFormat::csv;
  throw UsageError("--format must be text or csv, found \"" + format + '"');
}

void write_output(const Options& options, const std::function<void(std::ostream&)>& write) {
  if (!options.output) return write(std::cout);
  try {
    analysis::write_file(*options.output, write);
  } catch (const analysis::WrongPath& error) {
    throw UsageError(error.what());
  }
}

}  // namespace driver
