#include "driver/twin/twin.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <regex>

#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/plan/history.hpp"

namespace driver {
namespace {

/// Where a line begins, counted from 1.
std::size_t begin_of_line(const std::string& text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line && at != std::string::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return std::min(at, text.size());
}

/// Puts `value` in place of the scalar behind the next '='.
void replace_value(std::string& text, std::size_t from, const std::string& value) {
  const std::size_t equals = text.find('=', from);
  if (equals == std::string::npos) return;
  const std::size_t begin = std::min(text.find_first_not_of(" \t", equals + 1), text.size());
  const bool quoted = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
  std::size_t end =
      quoted ? text.find(text[begin], begin + 1) : text.find_first_of(" \t\r\n,}#", begin);
  end = end == std::string::npos ? text.size() : end + (quoted ? 1 : 0);
  text.replace(begin, end - begin, value);
}

void replace_name(std::string& text, const std::string& name) {
  static const std::regex kName(R"((^|\n)\s*(sweep\.)?name\s*=)");
  const auto table = static_cast<std::ptrdiff_t>(std::min(text.find("[sweep]"), text.size()));
  const auto begin = text.cbegin() + (table == std::ssize(text) ? 0 : table);
  std::smatch found;
  if (std::regex_search(begin, text.cend(), found, kName))
    replace_value(text, static_cast<std::size_t>(found[0].second - text.cbegin()) - 1, name);
}

/// In the table [engine], or before the first table where there is none.
void add_key(std::string& text, const std::string& key, const std::string& value) {
  static const std::regex kEngine(R"((^|\n)[ \t]*\[engine\][^\n]*\n?)"),
      kTable(R"((^|\n)[ \t]*\[)");
  const std::string line = key.substr(key.find('.') + 1) + " = " + value + '\n';
  std::smatch found;
  if (std::regex_search(text, found, kEngine)) {
    const auto at = static_cast<std::size_t>(found.position(0) + found.length(0));
    text.insert(at, text[at - 1] == '\n' ? line : '\n' + line);
  } else {
    const bool any = std::regex_search(text, found, kTable);
    const std::size_t at =
        any ? static_cast<std::size_t>(found.position(0) + found.length(1)) : text.size();
    text.insert(at, "engine." + line);
  }
}

bool has(const sweep::SweepSpec& spec, const std::string& key, const sweep::Value& value) {
  const auto found = spec.base.find(key);
  return found != spec.base.end() && sweep::same_value(found->second.value, value);
}

namespace fs = std::filesystem;

/// A server's figure server_NAME is the size engine.NAME. The longest sequence is not one of them:
/// it decides which jobs are replayed, and stays.
constexpr const char* kSizes[] = {"kv_tokens", "block_size", "max_num_seqs",
                                  "max_num_batched_tokens"};

/// The size that the cells' servers reported; nothing where none did.
std::optional<std::int64_t> size_of(const std::vector<analysis::ConfiguredCell>& cells,
                                    const std::string& name) {
  const analysis::ConfiguredCell* first = nullptr;
  const auto size = [&](const analysis::ConfiguredCell& cell) {
    return std::llround(cell.figure("server_" + name));
  };
  for (const analysis::ConfiguredCell& cell : cells) {
    if (std::isnan(cell.figure("server_" + name))) continue;
    if (first == nullptr) first = &cell;
    if (size(*first) != size(cell))
      throw UsageError("the servers had different sizes: engine." + name + " was " +
                       std::to_string(size(*first)) + " in " + first->record->label + " and " +
                       std::to_string(size(cell)) + " in " + cell.record->label +
                       "; write a twin of some of them with --only, as policy=PROFILE");
  }
  return first == nullptr ? std::nullopt : std::optional<std::int64_t>(size(*first));
}

/// Whether the sweep itself gives its cells different values.
bool varies(const sweep::SweepSpec& spec, const std::string& key) {
  const auto sets = [&](const auto& each) { return each.set.contains(key); };
  return spec.find_axis(key) != nullptr || std::ranges::any_of(spec.includes, sets) ||
         std::ranges::any_of(spec.overrides, sets);
}

std::vector<analysis::ConfiguredCell> served(const std::vector<sweep::CellRecord>& cells,
                                             const Options& options) {
  std::vector<analysis::ConfiguredCell> found = selected_cells(cells, options);
  std::erase_if(found, [](const analysis::ConfiguredCell& cell) {
    return cell.record->backend != "server" || cell.record->status != sweep::CellStatus::ok;
  });
  if (found.empty())
    throw UsageError(options.archive->string() + " has no result of backend server");
  return found;
}

/// By default beside the sweep file. Paths in a sweep file count from its folder, so the twin has
/// the same one.
fs::path path_of(const Options& options) {
  const fs::path sweep = options.arguments.front();
  const fs::path beside = sweep.parent_path() / (sweep.stem().string() + "-twin.toml");
  const fs::path path = options.output ? fs::path(*options.output) : beside;
  if (fs::absolute(path).lexically_normal().parent_path() !=
      fs::absolute(sweep).lexically_normal().parent_path())
    throw UsageError("-o " + path.string() +
                     ": a twin lies in the folder of its sweep file, from " +
                     "which the paths in it count");
  if (fs::exists(path)) throw UsageError(path.string() + " exists already");
  return path;
}

}  // namespace

std::string edited_sweep(const sweep::SweepSpec& spec, const std::string& name,
                         const std::string& backend,
                         const std::map<std::string, sweep::Value>& values) {
  std::string text = spec.text;
  const auto replace_at = [&](const sweep::Location& where, const std::string& value) {
    const auto column = static_cast<std::size_t>(std::max(where.column - 1, 0));
    replace_value(text, begin_of_line(text, where.line) + column, value);
  };
  // Values stay on their lines, so that those behind them are where they were; lines come last.
  if (spec.backend) replace_at(spec.backend->where, sweep::to_text(sweep::Value(backend)));
  for (const auto& [key, value] : values)
    if (const auto old = spec.base.find(key); old != spec.base.end())
      replace_at(old->second.where, sweep::to_text(value));
  replace_name(text, sweep::to_text(sweep::Value(name)));
  for (const auto& [key, value] : values)
    if (!spec.base.contains(key)) add_key(text, key, sweep::to_text(value));
  const sweep::SweepSpec edited = sweep::parse_spec(text, spec.path);
  const bool kept = std::ranges::all_of(
      values, [&](const auto& each) { return has(edited, each.first, each.second); });
  if (!kept || edited.name != name)
    throw sweep::SpecError(spec.path +
                           ": its name and engine.* cannot be edited as they are "
                           "written: give each a line of its own, key = value");
  return text;
}

int write_twin(const Options& options) {
  if (!options.archive && !options.arguments.front().ends_with(".toml")) return judge_twin(options);
  if (!options.archive) throw UsageError("twin needs --archive, whose cells say the sizes");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const fs::path path = path_of(options);
  const std::string archive_path = options.archive->string();
  const sweep::ArchiveReader archive = open_archive(archive_path);
  const PlanHistory same_sweep(archive, archive_path, spec.name);  // or throws
  const auto cells = served(archive.cells(), options);
  std::map<std::string, sweep::Value> values;
  for (const char* name : kSizes) {
    const std::string key = std::string("engine.") + name;
    const bool own = varies(spec, key);
    const auto size = own ? std::nullopt : size_of(cells, name);
    if (size) values[key] = *size;
    std::cout << key << ' ';
    if (own)
      std::cout << "as the sweep varies it\n";
    else
      std::cout << (size ? std::to_string(*size) : "not reported: as the sweep has it") << '\n';
  }
  const std::string text = edited_sweep(spec, spec.name + "-twin", "sim", values);
  analysis::NewFile file(path);
  file.fill([&](std::ostream& out) { out << text; });
  file.commit();
  const std::string shown = analysis::terminal_text(path.string());
  std::cout << "wrote " << shown << ". Run it:\n  kvsweep run " << shown << "\n  kvsweep run "
            << shown << " --backend cuda --archive " << analysis::terminal_text(spec.name)
            << "-twin-cuda.h5\n";
  return kOk;
}

}  // namespace driver
