#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "driver/search/capacity_search.hpp"
#include "driver/search/commands.hpp"
#include "sweeps/definition/assignment.hpp"
#include "workers/profiles/profiles.hpp"
#include "workers/rank/ready_worker.hpp"

namespace driver {
namespace {

using analysis::Capacity;

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

/// One table with --format csv: that of --confirm, which follows, if there is one.
void print_result(const CapacitySearch& search, const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  if (format == analysis::GridFormat::csv && options.confirm) return;
  print_grid(capacity_grid(search.rules(), search.capacities(), format), format, std::cout);
  if (format == analysis::GridFormat::csv) return;
  std::cout << '\n';
  for (const Capacity& each : search.capacities())
    if (const std::string note = each.not_monotone(search.rules()); !note.empty())
      std::cout << "note: " << analysis::terminal_text(each.place->name) << ": " << note << '\n';
  const Asked& asked = search.rounds().asked();
  std::cout << analysis::to_text({search.backend(), "-", "-"}) << ": "
            << asked.cells.size() - asked.open.size() << " cells were run, of "
            << search.grid_cells() << " that every load and seed would be\n";
}

}  // namespace

int capacity(const Options& options) {
  check_search(options, "capacity");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const std::string archive = archive_path(options, spec.name);
  CapacitySearch search(options, spec, assigned(spec, options), archive);
  check_confirm(options, search.backend());
  const analysis::GridFormat format = grid_format(options);
  const bool is_text = format == analysis::GridFormat::text;
  int code = search.run(options.budget);
  if (is_over(code) || search.rounds().is_out_of_budget()) print_result(search, options);
  if (code == kOk && options.confirm) code = search.confirm(*options.confirm, options.budget);
  if (!is_over(code)) return search.rounds().report_end("capacity", code);
  search.rounds().finish();
  if (options.confirm) {
    if (is_text) std::cout << '\n';
    print_grid(search.confirmed(*options.confirm, format), format, std::cout);
  }
  if (is_text) std::cout << "Results: " << analysis::terminal_text(archive) << std::endl;
  return std::ranges::all_of(search.capacities(), &Capacity::has_answer) ? kOk : kSomeCellsFailed;
}

}  // namespace driver
