#include "driver/capacity/command.hpp"

#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/capacity/rules.hpp"
#include "driver/capacity/search.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "sweeps/definition/assignment.hpp"

namespace driver {
namespace {

using analysis::Capacity;

void print_notes(const CapacitySearch& search) {
  for (const Capacity& each : search.capacities())
    if (const std::string note = each.not_monotone(search.rules()); !note.empty())
      std::cout << "note: " << analysis::terminal_text(each.place->name) << ": " << note << '\n';
}

/// Rows without an answer: undecided, or with cells that failed.
int unanswered(const CapacitySearch& search) {
  int rows = 0;
  for (const Capacity& each : search.capacities()) rows += each.has_answer() ? 0 : 1;
  return rows;
}

/// Before the search, which may last long, and before a file is written.
void check_confirm(const Options& options, const std::string& searched) {
  if (!options.confirm) return;
  require_backend(*options.confirm, "--confirm");
  if (*options.confirm == searched)
    throw UsageError("--confirm must be another backend than " + searched + ", which is searched");
  Options on = options;
  on.backend = options.confirm;
  make_plan(options.arguments.front(), on);
}

void print_result(const CapacitySearch& search, const Options& options) {
  print_grid(capacity_grid(search.rules(), search.capacities()), grid_format(options), std::cout);
  if (options.format) return;
  std::cout << '\n';
  print_notes(search);
  std::cout << analysis::to_text({search.backend(), "-", "-"}) << ": " << search.answered()
            << " cells were run, of " << search.grid_cells()
            << " that every load and seed would be\n";
}

int failed(int code, const CapacityFiles& files) {
  std::cerr << "kvsweep: capacity ends, since " << why_search_ends(code, files.log) << '\n';
  return code;
}

}  // namespace

int capacity(const Options& options) {
  check_search(options, "capacity");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const CapacityFiles files(archive_path(options, spec.name));
  sweep::SweepSpec assigned = spec;
  for (const std::string& each : options.set)
    sweep::assign(assigned, sweep::parse_assignment(each));
  CapacitySearch search(options, spec, rules_of(assigned, options), files);
  check_confirm(options, search.backend());
  int code = search.run();
  if (code == kIncomplete && search.is_out_of_budget()) {
    print_result(search, options);
    std::cerr << "kvsweep: the budget of " << *options.budget << " cells leaves "
              << unanswered(search) << " of " << search.capacities().size()
              << " rows undecided: the next round needs " << search.asked()
              << "; the same command with a larger --budget continues\n";
    return code;
  }
  if (code == kOk && options.confirm) code = search.confirm(*options.confirm);
  if (!is_over(code)) return failed(code, files);
  search.finish();
  print_result(search, options);
  if (options.confirm) {
    std::cout << '\n';
    print_grid(search.confirmed(*options.confirm), grid_format(options), std::cout);
  }
  if (!options.format)
    std::cout << "Results: " << analysis::terminal_text(files.archive) << std::endl;
  return unanswered(search) == 0 ? kOk : kSomeCellsFailed;
}

}  // namespace driver
