#include "driver/capacity/command.hpp"

#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/capacity/rules.hpp"
#include "driver/capacity/search.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "sweeps/spec/assignment.hpp"

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
  for (const Capacity& each : search.capacities())
    rows += each.problem.empty() && each.search.is_over() ? 0 : 1;
  return rows;
}

std::string backend_of(const sweep::SweepSpec& spec, const Options& options) {
  if (options.backend) return *options.backend;
  return spec.backend ? sweep::bare_text(spec.backend->value) : "sim";
}

/// Before the search, which may last long.
void require_other_backend(const std::string& confirm, const std::string& backend) {
  const std::vector<std::string> known = {"sim", "cpu", "cuda", "server"};
  if (std::ranges::find(known, confirm) == known.end())
    throw UsageError("--confirm must be one of " + sweep::joined(known) + ", found \"" + confirm +
                     '"');
  if (confirm == backend)
    throw UsageError("--confirm must be another backend than " + backend + ", which is searched");
}

void print_result(const CapacitySearch& search, const std::string& backend,
                  const Options& options) {
  print_grid(capacity_grid(search.rules(), search.capacities()), grid_format(options), std::cout);
  if (options.format) return;
  std::cout << '\n';
  print_notes(search);
  std::cout << capacity_kind(backend) << " (" << backend << "): " << search.cells()
            << " cells were asked for, of " << search.grid_cells()
            << " that every load and seed would be\n";
}

int failed(int code, const CapacityFiles& files) {
  std::cerr << "kvsweep: capacity ends, since " << why_search_ends(code, files.log) << '\n';
  return code;
}

}  // namespace

int capacity(const Options& options) {
  if (options.in_mpi_job)
    throw UsageError(
        "capacity starts runs itself: give --launch \"mpirun -n 8\" in place of "
        "mpirun");
  if (options.budget && *options.budget < 1)
    throw UsageError("--budget must be at least 1 cell, found " + std::to_string(*options.budget));
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const CapacityFiles files(archive_path(options, spec.name));
  sweep::SweepSpec assigned = spec;
  for (const std::string& each : options.set)
    sweep::assign(assigned, sweep::parse_assignment(each));
  const std::string backend = backend_of(spec, options);
  if (options.confirm) require_other_backend(*options.confirm, backend);
  CapacitySearch search(options, spec, rules_of(assigned, options), files);
  const int code = search.run();
  if (search.is_out_of_budget()) {
    print_result(search, backend, options);
    std::cerr << "kvsweep: the budget of " << *options.budget << " cells leaves "
              << unanswered(search) << " of " << search.capacities().size()
              << " rows undecided: the next round needs " << search.cells()
              << "; the same command with a larger --budget continues\n";
    return code;
  }
  if (code != kOk) return failed(code, files);
  if (options.confirm)
    if (const int confirmed = search.confirm(*options.confirm); !is_over(confirmed))
      return failed(confirmed, files);
  search.finish();
  print_result(search, backend, options);
  if (options.confirm) {
    std::cout << '\n';
    print_grid(search.confirmed(*options.confirm), grid_format(options), std::cout);
  }
  if (!options.format)
    std::cout << "Results: " << analysis::terminal_text(files.archive) << std::endl;
  return unanswered(search) == 0 ? kOk : kSomeCellsFailed;
}

}  // namespace driver
