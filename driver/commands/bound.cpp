#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/restored.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;
using analysis::two_decimals;

/// The cached part of a cell's prompts when their turns were first admitted, in blocks before the
/// last token of a prompt.
struct Misses {
  double hits = 0;  // part of the prompt tokens
  std::int64_t missed = 0;
  bounds::MissBound least{};
};

Misses misses_of(const sweep::Table& turns, const bounds::TurnBlocks& blocks,
                 const worker::ExperimentConfig& config) {
  const auto& job = turns.values<std::int32_t>("job");
  const auto& turn = turns.values<std::int32_t>("turn");
  const auto& admitted = turns.values<double>("t_admit_s");
  const auto& finished = turns.values<double>("t_finish_s");
  const auto& prompt = turns.values<std::int32_t>("prompt_tok");
  const auto& on_gpu = turns.values<std::int32_t>("cached_gpu_tok");
  const auto& on_host = turns.values<std::int32_t>("cached_host_tok");
  const int block = config.engine.kv.block_size;
  Misses misses;
  std::vector<bounds::Served> served;
  double prompts = 0, hits = 0;
  for (std::size_t row = 0; row < turns.rows(); ++row) {
    const int hit = on_gpu[row] + on_host[row];
    prompts += prompt[row];
    hits += hit;
    misses.missed += (prompt[row] - 1) / block - hit / block;
    served.push_back({job[row], turn[row], admitted[row], finished[row]});
  }
  misses.hits = hits / prompts;
  misses.least = blocks.least_misses(served, bounds::block_capacity(config));
  return misses;
}

/// Bounds of the cells of an archive, each restored from what its result depends on. Cells of a
/// real backend get the bound of the same cell on sim, whose costs are a model of theirs. Files
/// that a cell read must be named by --set, as an archive has only their digests.
class ArchiveBounds {
 public:
  ArchiveBounds(sweep::ArchiveReader& archive, const Options& options)
      : archive_(archive), options_(options), profiles_(options.profiles) {}

  void add(const ConfiguredCell& cell) {
    if (cell.record->status != sweep::CellStatus::ok) return;
    try {
      add(cell, restored(cell, options_.set, profiles_));
    } catch (const sweep::SpecError& why) {
      ++missing_[why.what()];
    }
  }

  const analysis::CellBounds& by_key() const { return by_key_; }

  void print(std::ostream& out) const {
    for (const auto& [why, count] : missing_)
      out << "no bound for " << count << (count == 1 ? " cell: " : " cells: ")
          << analysis::terminal_text(why) << '\n';
    for (const std::string& why : only_alone_) out << "only `alone` is known: " << why << '\n';
    out << '\n';
    print_text(grid_, out);
  }

 private:
  struct Known {
    bounds::CellBound bound;
    std::optional<bounds::TurnBlocks> blocks{};
  };

  void add(const ConfiguredCell& cell, const worker::ExperimentConfig& config) {
    const std::string key = bounds::bound_key(config);
    if (!known_.contains(key)) known_.emplace(key, Known{bounds::bound_of(config, workloads_)});
    Known& known = known_.at(key);
    const bounds::CellBound& bound = known.bound;
    by_key_[cell.record->key] = bound.mean.best_s();
    if (!bound.alone_because.empty()) only_alone_.insert(bound.alone_because);
    const bounds::HitBound most = bounds::most_hits_of(config, workloads_);
    std::vector<std::string> row = {
        cell.record->label,
        two_decimals(bound.mean.best_s()),
        bound.mean.label(),
        "-",
        two_decimals(100.0 * static_cast<double>(most.most_tokens) /
                     static_cast<double>(std::max<std::int64_t>(1, most.prompt_tokens))),
        "-",
        "-",
        "-"};
    if (sweep::lack_of_table(*cell.record, "turns").empty()) {
      if (!known.blocks) known.blocks = bounds::turn_blocks_of(config, workloads_);
      const Misses misses =
          misses_of(archive_.load_table(cell.record->index, "turns"), *known.blocks, config);
      row[3] = two_decimals(100 * misses.hits);
      row[5] = std::to_string(misses.missed);
      row[6] = std::to_string(misses.least.least);
      row[7] = std::to_string(misses.least.compulsory);
    }
    grid_.rows.push_back(std::move(row));
  }

  sweep::ArchiveReader& archive_;
  const Options& options_;
  worker::Profiles profiles_;
  worker::WorkloadCache workloads_;
  std::map<std::string, Known> known_;  // by bound_key()
  analysis::CellBounds by_key_;
  std::map<std::string, int> missing_;  // why cells have none
  std::set<std::string> only_alone_;    // why cells have no other bound
  analysis::Grid grid_{{{"cell", "", false},
                        {"bound", "s"},
                        {"by", "", false},
                        {"hits", "%"},
                        {"at most", "%"},
                        {"missed", "blocks"},
                        {"at least", "in this order"},
                        {"compulsory", ""}},
                       {}};
};

}  // namespace

int bound(const Options& options) {
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const std::vector<ConfiguredCell> cells = selected_cells(archive, options);
  ArchiveBounds bounds(archive, options);
  for (const ConfiguredCell& cell : cells) bounds.add(cell);
  print_tables(cells, options, bounds.by_key());
  bounds.print(std::cout);
  return kOk;
}

}  // namespace driver
