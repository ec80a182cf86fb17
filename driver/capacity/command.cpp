#include "driver/capacity/command.hpp"

#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/capacity/search.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "sweeps/definition/assignment.hpp"
#include "workers/profiles/profiles.hpp"
#include "workers/rank/ready_worker.hpp"

namespace driver {
namespace {

using analysis::Capacity;

void print_notes(const CapacitySearch& search) {
  for (const Capacity& each : search.capacities())
    if (const std::string note = each.not_monotone(search.rules()); !note.empty())
      std::cout << "note: " << analysis::terminal_text(each.place->name) << ": " << note << '\n';
}

/// "GPU=NUMBER" over the file's table of this name.
void take(const std::vector<std::string>& given, const std::string& flag, const std::string& name,
          sweep::ParamMap& capacity) {
  for (const std::string& each : given) {
    const sweep::Assignment number = sweep::parse_assignment(each, flag);
    capacity["capacity." + name + '.' + number.key] = number.param;
  }
}

/// The sweep with the command line over its parameters and its table [capacity], and there the
/// prices and watts of its GPUs' profiles.
sweep::SweepSpec assigned(sweep::SweepSpec spec, const Options& options) {
  if (analysis::is_of_search(spec))
    throw UsageError(spec.path + " is of a search: give the sweep file that it began with");
  for (const std::string& each : options.set) sweep::assign(spec, sweep::parse_assignment(each));
  if (options.slo) {
    std::erase_if(spec.capacity,
                  [](const auto& each) { return each.first.starts_with("capacity.slo"); });
    spec.capacity["capacity.slo"] = {*options.slo, {"--slo", 0, 0}};
  }
  if (options.most) spec.capacity["capacity.most"] = {*options.most, {"--most", 0, 0}};
  take(options.price, "--price GPU=USD", "price_per_hour", spec.capacity);
  take(options.watts, "--watts GPU=W", "watts", spec.capacity);
  for (const std::string& gpu : analysis::gpus_of(spec)) {
    const backends::GpuProfile profile = worker::load_gpu_profile(options.profiles, gpu);
    const auto know = [&](const std::string& name, double value) {
      if (value > 0)
        spec.capacity.try_emplace("capacity." + name + '.' + gpu, sweep::Param{value, {}});
    };
    know("price_per_hour", profile.price_per_hour);
    know("watts", profile.power_limit_w);
  }
  return spec;
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
  worker::require_built(*options.confirm);
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

}  // namespace

int capacity(const Options& options) {
  check_search(options, "capacity");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const CapacityFiles files(archive_path(options, spec.name));
  CapacitySearch search(options, spec, assigned(spec, options), files);
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
  if (!is_over(code)) {
    std::cerr << "kvsweep: capacity ends, since " << why_search_ends(code, files.log) << '\n';
    return code;
  }
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
