#include "driver/twin/twin.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/plan/history.hpp"
#include "driver/twin/edited_sweep.hpp"

namespace driver {
namespace {

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

int write_twin(const Options& options) {
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
