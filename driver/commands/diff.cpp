#include <algorithm>
#include <iostream>

#include "analysis/compare/config.hpp"
#include "analysis/digest/first_difference.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

struct Side {
  const sweep::CellRecord& record;
  sweep::CellResult result;

  std::string name() const { return "cell " + std::to_string(record.index); }
};

void print_keys(const Side& a, const Side& b) {
  const analysis::ConfiguredCell in_a(a.record), in_b(b.record);
  analysis::Grid grid{{{"differ in", "", false}, {a.name(), "", false}, {b.name(), "", false}}, {}};
  for (const auto& each : analysis::config_differences(in_a.config, in_b.config))
    grid.rows.push_back({each.key, analysis::shown(each.a), analysis::shown(each.b)});
  print_text(grid, std::cout);
}

void print_actions(const Side& side, const analysis::OwnActions& own, bool has_none) {
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(kMost, own.actions.size()); ++i)
    std::cout << "only " << side.name() << ": " << own.actions[i] << '\n';
  if (own.actions.size() > kMost)
    std::cout << "only " << side.name() << ": and " << own.actions.size() - kMost << " more\n";
  if (has_none) std::cout << "only " << side.name() << ": nothing\n";
}

/// Prints the first step that differs: queue and pool of both cells, and the actions that only one
/// of them takes.
void print_difference(const std::string& what, const analysis::FirstDifference& first,
                      const Side& a, const Side& b) {
  std::cout << '\n';
  if (first.step == 0) {
    std::cout << what << ": the same in all steps\n";
    return;
  }
  std::cout << what << ": first different at step " << first.step << "\n\n";
  analysis::Grid grid{{{"", "", false}, {a.name(), ""}, {b.name(), ""}}, {}};
  // Servers do not log their blocks.
  const bool has_blocks = a.record.backend != "server" && b.record.backend != "server";
  for (const std::string column : {"t_s", "n_running", "n_waiting", "n_tok", "blk_used",
                                   "blk_pinned", "blk_cached", "blk_free", "host_blk_used"})
    if (has_blocks || column.find("blk_") == std::string::npos)
      grid.rows.push_back({column, analysis::at_step(a.result, first.a, column),
                           analysis::at_step(b.result, first.b, column)});
  print_text(grid, std::cout);
  std::cout << '\n';
  print_actions(a, first.a, first.a.actions.empty());
  print_actions(b, first.b, first.b.actions.empty());
}

}  // namespace

int diff(const Options& options) {
  sweep::ArchiveReader reader = open_archive(options.arguments[0]);
  const auto side = [&](const std::string& word) {
    const sweep::CellRecord& record = finished_cell(reader, word);
    require_seen_steps(record);
    return Side{record, reader.load(record.index).result};
  };
  const Side a = side(options.arguments[1]), b = side(options.arguments[2]);
  for (const Side* each : {&a, &b})
    std::cout << each->name() << ": " << analysis::terminal_text(each->record.label) << '\n';
  std::cout << '\n';
  print_keys(a, b);
  print_difference("KV events", analysis::first_kv_apart(a.result, b.result), a, b);
  print_difference("Scheduling", analysis::first_scheduled_apart(a.result, b.result), a, b);
  return kOk;
}

}  // namespace driver
