#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "driver/plan/plan.hpp"
#include "workers/binding/keys.hpp"

namespace driver {
namespace {

/// Values that are likely meant in another unit.
void print_unlikely(const Plan& plan, std::ostream& out) {
  constexpr double kMost = 1000;
  for (const auto& [key, unit, meant] :
       {std::tuple<std::string, const char*, const char*>{"workload.gap_s", " seconds",
                                                          ": are milliseconds meant?"},
        {"jps", " jobs a second", ""}})
    for (const PlannedCell& planned : plan.cells) {
      const auto found = planned.cell.params.find(key);
      if (!planned.selected || !planned.runs() || found == planned.cell.params.end()) continue;
      if (!(analysis::number_of(found->second.value) >= kMost)) continue;
      out << "kvsweep: " << analysis::terminal_text(sweep::to_text(found->second.where)) << ": "
          << key << " is " << sweep::bare_text(found->second.value) << unit << ", more than "
          << kMost << meant << '\n';
      break;
    }
}

}  // namespace

void print_keys_without_effect(const Plan& plan, std::ostream& out) {
  print_unlikely(plan, out);
  std::map<std::string, sweep::Location> given;
  std::set<std::string> counting;  // in a cell that is selected
  std::set<std::string> in_any;    // in a cell
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.runs()) continue;
    const std::set<std::string>& own = *planned.repeats->counting;
    in_any.insert(own.begin(), own.end());
    if (!planned.selected) continue;
    for (const auto& [key, param] : planned.cell.params) given.try_emplace(key, param.where);
    counting.insert(own.begin(), own.end());
  }
  // Cells lack an axis that does not count in them.
  for (const sweep::Axis& axis : plan.spec.axes)
    if (!in_any.empty() && !in_any.contains(axis.name)) given.try_emplace(axis.name, axis.where);
  const worker::KeyTable& table = worker::sweep_keys();
  bool told_of_server = false;
  for (const auto& [key, where] : given) {
    if (counting.contains(key) || !table.has(key)) continue;
    const bool elsewhere = table.has_no_effect_on(plan.backend, key);
    const bool of_server = elsewhere && key.starts_with("server.");
    if (of_server && std::exchange(told_of_server, true)) continue;
    const std::string why = elsewhere ? " on backend " + plan.backend
                                      : ": it counts where " + table.where_in_words(key);
    out << "kvsweep: " << analysis::terminal_text(sweep::to_text(where)) << ": "
        << (of_server ? "server.* (all but the sim of profiles)" : key) << " has no effect" << why
        << '\n';
  }
}

}  // namespace driver
