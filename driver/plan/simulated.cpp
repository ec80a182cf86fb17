#include "driver/plan/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <stop_token>
#include <tuple>

#include "sweeps/process/child_process.hpp"

namespace driver {
namespace {

constexpr double kMostSteps = 4e6;    // of all simulations: some 40 s of a core
constexpr double kStepsOfStart = 50;  // that a cell takes before and after its steps
constexpr unsigned kLongest_s = 60;   // a plugin may loop

/// The cost of a simulation. Written to a pipe at once.
struct Taken {
  std::size_t line;
  double served_s, busy_s;
};

struct Simulated {
  const sweep::Cell* cell;
  double served_s, estimated_s;
};

bool can_simulate(const PlanLine& line) {
  return line.runs && line.estimated && line.cell->repeats->backend != "cpu";
}

bool has_plugin(const PlanLine& line) { return line.cell->cell.params.contains("policy.plugin"); }

/// The lines to simulate: one repeat of each cell, then the others; those with a plugin, which may
/// end its process, are the last. Neighbors of the plan are far apart, so that the first of them
/// tell of all.
std::vector<std::size_t> order_of(const std::vector<PlanLine>& lines) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (can_simulate(lines[i])) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    constexpr std::uint32_t kSpread = 2'654'435'761;  // 2^32 over the golden ratio
    return std::tuple(has_plugin(lines[i]), lines[i].cell->cell.repeat,
                      static_cast<std::uint32_t>(i) * kSpread);
  });
  return order;
}

/// Simulates one cell. Throws worker::CellAbandoned when no steps are left.
Taken simulated(const PlanLine& line, std::size_t number, worker::WorkloadCache& workloads,
                double& steps_left) {
  const worker::ExperimentConfig config = line.cell->config();
  worker::ExperimentConfig sim = modelled(*line.cell, config);
  if (sim.server) throw worker::InputError("no policy stands for this server");
  sim.backend = "sim";
  sim.access_log.reset();
  steps_left -= kStepsOfStart;
  std::stop_source stop;
  const worker::RunHooks hooks{.progress =
                                   [&](const worker::Progress&) {
                                     if (--steps_left < 0) stop.request_stop();
                                   },
                               .stop = stop.get_token(),
                               .record = sweep::RecordLevel::summary};
  const sweep::CellResult result = worker::run_experiment(sim, workloads, hooks);
  const double served_s = figure_of(result.figures, "makespan_s");
  return {number, served_s,
          worker::busy_seconds(
              config, {.served_s = served_s, .steps = figure_of(result.figures, "steps")})};
}

/// In child `child` of `children`: simulates its share and writes what each took.
void simulate_share(const std::vector<PlanLine>& lines, const std::vector<std::size_t>& order,
                    std::size_t child, std::size_t children, int to) {
  ::alarm(kLongest_s);
  worker::WorkloadCache workloads;
  double steps_left = kMostSteps / static_cast<double>(children);
  for (std::size_t i = child; i < order.size(); i += children) {
    try {
      const Taken taken = simulated(lines[order[i]], order[i], workloads, steps_left);
      if (::write(to, &taken, sizeof taken) != sizeof taken) return;
    } catch (const worker::CellAbandoned&) {
      return;
    } catch (const std::exception&) {
      // It keeps its estimate; the run says what is wrong with it.
    }
  }
}

std::map<std::size_t, Taken> simulations(const std::vector<PlanLine>& lines, int cores) {
  const std::vector<std::size_t> order = order_of(lines);
  auto pipe = sweep::make_pipe();
  sweep::Descriptor &from = pipe.first, &to = pipe.second;
  std::vector<sweep::ChildProcess> children;
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(1, cores)), order.size());
  for (std::size_t child = 0; child < count; ++child)
    children.emplace_back([&, child] {
      simulate_share(lines, order, child, count, to.get());
      return 0;
    });
  to.close();
  std::map<std::size_t, Taken> found;
  for (Taken taken{};;) {
    const ssize_t read = ::read(from.get(), &taken, sizeof taken);
    if (read < 0 && errno == EINTR) continue;
    if (read != sizeof taken) break;
    found.emplace(taken.line, taken);
  }
  for (sweep::ChildProcess& child : children) child.wait();
  return found;
}

/// Replaces the estimates of a line. Starts of servers, in `busy_s`, stay.
void set_times(PlanLine& line, double served_s, double busy_s) {
  line.busy_s += busy_s - (line.cell->repeats->backend == "sim" ? line.busy_s : line.served_s);
  line.served_s = served_s;
}

/// In how many axes two cells differ; far more if in the policy.
std::size_t distance(const sweep::Cell& a, const sweep::Cell& b) {
  constexpr std::size_t kPolicy = 100;
  std::size_t found = 0;
  for (const auto& [name, value] : a.axes) {
    const sweep::Value* other = sweep::value_on(b.axes, name);
    if (other == nullptr || !sweep::same_value(value, *other))
      found += name == "policy" ? kPolicy : 1;
  }
  return found;
}

/// By how much the estimates of the simulated cells nearest to one are off.
double off_beside(const PlanLine& line, const std::vector<Simulated>& simulated) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  double served_s = 0, estimated_s = 0;
  for (const Simulated& each : simulated) {
    const std::size_t apart = distance(line.cell->cell, *each.cell);
    if (apart > least) continue;
    if (apart < least) served_s = estimated_s = 0;
    least = apart;
    served_s += each.served_s;
    estimated_s += each.estimated_s;
  }
  return estimated_s > 0 ? served_s / estimated_s : 1;
}

}  // namespace

void simulate(std::vector<PlanLine>& lines, int cores) {
  const std::map<std::size_t, Taken> found = simulations(lines, cores);
  if (found.empty()) return;
  std::map<const BoundRepeats*, Taken> of_cell;
  std::vector<Simulated> simulated;
  for (const auto& [number, taken] : found) {
    PlanLine& line = lines[number];
    of_cell.emplace(line.cell->repeats.get(), taken);
    simulated.push_back({&line.cell->cell, taken.served_s, line.served_s});
    set_times(line, taken.served_s, taken.busy_s);
    line.simulated = true;
  }
  for (PlanLine& line : lines) {
    if (line.simulated || !can_simulate(line)) continue;
    const auto other = of_cell.find(line.cell->repeats.get());
    if (other != of_cell.end()) {
      set_times(line, other->second.served_s, other->second.busy_s);
      continue;
    }
    const double off = off_beside(line, simulated);
    set_times(line, line.served_s * off,
              (line.cell->repeats->backend == "sim" ? line.busy_s : line.served_s) * off);
  }
}

}  // namespace driver
