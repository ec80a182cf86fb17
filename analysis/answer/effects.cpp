#include "analysis/answer/effects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

#include "analysis/answer/mechanisms.hpp"
#include "analysis/answer/place_names.hpp"
#include "analysis/answer/sentences.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// A part of a policy: the key that turns it on, its value for off, the keys that go with it, and
/// named policies that have this part alone.
struct PartKeys {
  std::string_view name, main, off;
  std::vector<std::string_view> others;
  std::vector<std::pair<std::string_view, std::string_view>> alone;  // value, policy
};

const std::array<PartKeys, 7>& part_keys() {
  static const std::array<PartKeys, 7> keys = {
      {{"order",
        "policy.order",
        "fcfs",
        {"policy.victim", "policy.max_active_programs", "policy.remaining_work",
         "policy.prefix_window", "policy.prefix_age_s"},
        {{"job_fcfs", "job_fcfs"}}},
       {"admission",
        "policy.admission",
        "max_programs",
        {"policy.horizon", "policy.pool_share", "policy.admission_period_s",
         "policy.first_turns_share"},
        {}},
       {"tier",
        "policy.tier",
        "none",
        {"policy.store", "policy.tail_store", "policy.chunk_tokens", "policy.save_decode",
         "policy.schedule_cost_s", "policy.save_cost_s"},
        {{"offload", "cpu_offload"}, {"lmcache", "lmcache"}}},
       {"prefetch", "policy.prefetch", "none", {"policy.scoring"}, {}},
       {"preemption", "policy.preemption", "recompute", {"policy.swap_partially"}, {}},
       {"layout", "policy.layout", "paged", {"policy.max_new_tokens"}, {}},
       {"retention", "policy.retention", "free", {}, {{"pin", "pin"}}}}};  // and all other keys
  return keys;
}

/// Host memory serves a tier or, without one, preemption.
std::string_view part_of(std::string_view key, bool has_tier) {
  if (key == "dram_gib" || key == "policy.host_memory" || key == "policy.duplex")
    return has_tier ? "tier" : "preemption";
  for (const PartKeys& part : part_keys())
    if (key == part.main || std::ranges::find(part.others, key) != part.others.end())
      return part.name;
  return "retention";
}

/// What the keys of each part say; a part that is off says nothing.
using Parts = std::map<std::string_view, std::string>;

Parts parts_of(const ConfiguredCell& cell) {
  const bool has_tier = cell.value("policy.tier").value_or("none") != sweep::Value("none");
  Parts parts;
  for (const auto& [key, value] : cell.config) {
    if (key != "dram_gib" && !key.starts_with("policy.")) continue;
    const std::string_view name = part_of(key, has_tier);
    const auto part = std::ranges::find(part_keys(), name, &PartKeys::name);
    if (key == part->main && shown(value) == part->off) continue;
    parts[name] += key + '=' + shown(value) + '\n';
  }
  return parts;
}

std::string value_of(const ConfiguredCell& cell, std::string_view part) {
  const auto keys = std::ranges::find(part_keys(), part, &PartKeys::name);
  return shown(cell.value(std::string(keys->main)));
}

/// The parts in which two policies differ.
std::vector<std::string_view> differences(const Parts& a, const Parts& b) {
  std::vector<std::string_view> names;
  for (const PartKeys& part : part_keys()) {
    const auto in_a = a.find(part.name), in_b = b.find(part.name);
    const bool has_a = in_a != a.end(), has_b = in_b != b.end();
    if (has_a != has_b || (has_a && in_a->second != in_b->second)) names.push_back(part.name);
  }
  return names;
}

const ConfiguredCell& cell_of(const PolicyCells& policy) { return *policy.repeats.front(); }

std::string beside_text(const PolicyCells& policy, const Parts& parts) {
  std::string text;
  for (const auto& [name, said] : parts)
    text += (text.empty() ? "" : ", ") + std::string(name) + ' ' + value_of(cell_of(policy), name);
  return text;
}

void add_effects(std::vector<Effect>& effects, const RateRow& row, std::string_view figure) {
  std::vector<Parts> parts;
  for (const PolicyCells& policy : row.policies) parts.push_back(parts_of(cell_of(policy)));
  for (std::size_t with = 0; with < parts.size(); ++with) {
    for (std::size_t without = 0; without < parts.size(); ++without) {
      const auto names = differences(parts[without], parts[with]);
      if (names.size() != 1 || parts[without].contains(names.front())) continue;
      const PolicyCells &base = row.policies[without], &policy = row.policies[with];
      effects.push_back({row.place, row.jps, std::string(names.front()),
                         value_of(cell_of(policy), names.front()),
                         beside_text(base, parts[without]), base.variant, policy.variant,
                         ratio_of(by_seed(policy.repeats, figure), by_seed(base.repeats, figure))});
    }
  }
}

/// How fast one part of a policy is alone.
struct Alone {
  std::string text;          // "order alone (job_fcfs)", "retention alone did not run (policy pin)"
  std::string speed;         // "3.40"; empty if it did not run, or is as fast as the whole policy
  std::string missing = {};  // the policy that would tell
};

Alone alone_of(const RateRow& row, const PolicyCells& best, std::string_view part,
               const PolicyCells& fcfs) {
  const Parts wanted = {{part, parts_of(cell_of(best)).at(part)}};
  const std::string name(part);
  for (const PolicyCells& each : row.policies) {
    if (parts_of(cell_of(each)) != wanted) continue;
    const double behind =
        ratio_of(by_seed(each.repeats, kAnswerFigure), by_seed(best.repeats, kAnswerFigure)).value;
    if (std::abs(behind - 1) < kEqual)
      return {name + " alone (" + each.variant + ") is as fast", ""};
    return {name + " alone (" + each.variant + ")",
            ratio_text(ratio_of(by_seed(fcfs.repeats, kAnswerFigure),
                                by_seed(each.repeats, kAnswerFigure)))};
  }
  const auto keys = std::ranges::find(part_keys(), part, &PartKeys::name);
  const std::string value = value_of(cell_of(best), part);
  for (const auto& [known, policy] : keys->alone)
    if (value == known)
      return {name + " alone did not run (policy " + std::string(policy) + ")", "",
              std::string(policy)};
  return {name + " alone did not run", ""};
}

/// The share of the prompt tokens whose KV was found, in percent; NaN if it was not observed.
double found_percent(const PolicyCells& policy) {
  const auto rate = [&](const char* figure) {
    return mean_of(by_seed(policy.repeats, figure)).value;
  };
  const double on_host = rate("host_hit_rate");
  return 100 * (rate("prefix_hit_rate") + (std::isnan(on_host) ? 0 : on_host));
}

/// "92 % (fcfs 37 %)": what keeping KV comes to; empty if it was not observed.
std::string found_text(const PolicyCells& best, const PolicyCells& fcfs) {
  const double own = found_percent(best), other = found_percent(fcfs);
  if (std::isnan(own) || std::isnan(other)) return "";
  const auto text = [](double percent) { return std::to_string(std::lround(percent)) + " %"; };
  return text(own) + " (fcfs " + text(other) + ')';
}

/// An explanation that holds at some rates.
struct Explanation {
  std::string place, gpu, policy;
  std::string mechanism;  // what it hardly does
  Texts rates, speeds;
  Texts missing;  // policies that would tell
  Texts found;    // found_text() at each rate; empty if it was not observed
  std::vector<std::pair<std::string, Texts>> parts;

  /// Whether another one says the same of its rate.
  bool matches(const Explanation& other) const {
    return place == other.place && policy == other.policy && mechanism == other.mechanism &&
           found.empty() == other.found.empty() &&
           std::ranges::equal(parts, other.parts, {}, &std::pair<std::string, Texts>::first,
                              &std::pair<std::string, Texts>::first);
  }

  void add(const Explanation& other) {
    rates.push_back(other.rates.front());
    speeds.push_back(other.speeds.front());
    found.insert(found.end(), other.found.begin(), other.found.end());
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i].second.insert(parts[i].second.end(), other.parts[i].second.begin(),
                             other.parts[i].second.end());
  }

  std::string text() const {
    const std::string where = rates.size() == 1 ? at_rates(rates) : "";
    std::string line = place + ": " + (where.empty() ? "" : where + ' ') + policy + " is " +
                       per_rate(speeds, rates, " times as fast as fcfs");
    if (!mechanism.empty()) line += "; it " + mechanism;
    const char* separator = "; ";
    for (const auto& [name, own] : parts) {
      line += separator + name + (own.empty() ? "" : ' ' + per_rate(own, rates, ""));
      separator = ", ";
    }
    if (!found.empty()) line += "; prompt tokens found in a cache: " + per_rate(found, rates, "");
    return line;
  }
};

const RateRow* row_of(std::span<const RateRow> rows, const Regime& regime) {
  const auto found = std::ranges::find_if(
      rows, [&](const RateRow& row) { return row.place == regime.place && row.jps == regime.jps; });
  return found == rows.end() ? nullptr : &*found;
}

/// The best policies, in the order of the row, without those that are a part of another one; none
/// if fcfs is among them.
std::vector<const PolicyCells*> to_explain(const RateRow& row, const Regime& regime) {
  std::vector<const PolicyCells*> best;
  for (const PolicyCells& each : row.policies) {
    const bool is_best = each.variant == regime.winner ||
                         std::ranges::find(regime.tied, each.variant) != regime.tied.end();
    if (is_best && each.variant == "fcfs") return {};
    if (is_best) best.push_back(&each);
  }
  const auto is_part_of_another = [&](const PolicyCells* one) {
    const Parts parts = parts_of(cell_of(*one));
    return std::ranges::any_of(best, [&](const PolicyCells* other) {
      const Parts more = parts_of(cell_of(*other));
      return more.size() > parts.size() && std::ranges::includes(more, parts);  // which names it
    });
  };
  std::vector<const PolicyCells*> whole;
  std::ranges::remove_copy_if(best, std::back_inserter(whole), is_part_of_another);
  return whole;
}

/// Why `best` is faster than fcfs; without parts if fcfs did not run, or has parts itself.
Explanation explanation_of(const RateRow& row, const PolicyCells* best, const Regime& regime,
                           const PlaceNames& names) {
  Explanation made;
  const PolicyCells* fcfs = row.find("fcfs");
  if (fcfs == nullptr || !parts_of(cell_of(*fcfs)).empty()) return made;
  const Parts parts = parts_of(cell_of(*best));
  made.place = names(row.place) + (regime.dram == "-" ? "" : " with " + regime.dram + " GiB");
  made.gpu = row.place.gpu;
  made.policy = best->variant;
  made.mechanism = idle_pins(*best);
  made.rates = {row.jps};
  made.speeds = {ratio_text(
      ratio_of(by_seed(fcfs->repeats, kAnswerFigure), by_seed(best->repeats, kAnswerFigure)))};
  for (const PartKeys& part : part_keys()) {
    if (!parts.contains(part.name)) continue;
    if (parts.size() == 1) {
      made.parts.emplace_back("they differ in " + std::string(part.name) + " alone (" +
                                  value_of(cell_of(*best), part.name) + ')',
                              Texts{});
      continue;
    }
    const Alone alone = alone_of(row, *best, part.name, *fcfs);
    made.parts.emplace_back(alone.text, alone.speed.empty() ? Texts{} : Texts{alone.speed});
    if (!alone.missing.empty()) made.missing.push_back(alone.missing);
  }
  const std::string found = found_text(*best, *fcfs);
  if (!found.empty()) made.found.push_back(found);
  return made;
}

/// One for each policy and place that is best, with all rates at which the same is said.
std::vector<Explanation> explanations(std::span<const RateRow> rows,
                                      std::span<const Regime> regimes) {
  const PlaceNames names = place_names(regimes);
  std::vector<Explanation> all;
  for (const Regime& regime : regimes) {
    const RateRow* row = row_of(rows, regime);
    if (row == nullptr) continue;
    for (const PolicyCells* best : to_explain(*row, regime)) {
      const Explanation made = explanation_of(*row, best, regime, names);
      if (made.parts.empty()) continue;
      const auto known =
          std::ranges::find_if(all, [&](const Explanation& each) { return each.matches(made); });
      if (known == all.end()) {
        all.push_back(made);
      } else {
        known->add(made);
      }
    }
  }
  return all;
}

}  // namespace

std::vector<Effect> effects_of(std::span<const RateRow> rows, std::string_view figure) {
  std::vector<Effect> effects;
  for (const RateRow& row : rows) add_effects(effects, row, figure);
  return effects;
}

Grid to_grid(std::span<const Effect> effects, GridFormat format) {
  Grid grid;
  for (const char* name :
       {"kind", "gpu", "settings", "jps", "part", "value", "beside", "with", "without"})
    grid.columns.push_back({name, "", false});
  for (const char* name : {"ratio", "low95", "high95", "repeats"})
    grid.columns.push_back({name, ""});
  for (const Effect& each : effects) {
    Texts texts = {each.place.kind, each.place.gpu, each.place.settings, each.jps,    each.part,
                   each.value,      each.beside,    each.with,           each.without};
    for (const double number :
         {each.ratio.value, each.ratio.interval.low, each.ratio.interval.high})
      texts.push_back(format == GridFormat::csv ? exact_number(number) : four_digits(number));
    texts.push_back(std::to_string(each.ratio.repeats));
    grid.rows.push_back(std::move(texts));
  }
  return grid;
}

std::vector<std::string> explain(std::span<const RateRow> rows, std::span<const Regime> regimes) {
  Texts lines;
  for (const Explanation& each : explanations(rows, regimes)) lines.push_back(each.text());
  return lines;
}

std::vector<Ablation> missing_ablations(std::span<const RateRow> rows,
                                        std::span<const Regime> regimes) {
  std::vector<Ablation> ablations;
  for (const Explanation& each : explanations(rows, regimes)) {
    for (const std::string& policy : each.missing) {
      auto known = std::ranges::find(ablations, policy, &Ablation::policy);
      if (known == ablations.end()) known = ablations.insert(known, Ablation{policy, {}, {}});
      add_once(known->gpus, each.gpu);
      for (const std::string& rate : each.rates) add_once(known->rates, rate);
    }
  }
  for (Ablation& each : ablations)
    std::ranges::sort(each.rates, {},
                      [](const std::string& rate) { return std::atof(rate.c_str()); });
  return ablations;
}

std::string ablation_command(const Ablation& ablation, const std::string& run) {
  const auto joined = [](const Texts& texts) {
    std::string text;
    for (const std::string& each : texts) text += (text.empty() ? "" : ",") + each;
    return text;
  };
  std::istringstream words(run);
  std::string command = "kvsweep", word;
  while (words >> word) {
    const bool has_value = word == "--archive" || word == "--only" || word == "--skip" ||
                           word == "--cell" || word == "--jsonl" || word == "--wait";
    if (has_value && words >> word) continue;
    if (word != "--resume" && word != "--fresh" && word != "--quick") command += ' ' + word;
  }
  command += " --set policy=" + ablation.policy + " --only gpu=" + joined(ablation.gpus);
  if (ablation.rates != Texts{"-"}) command += ",jps=" + joined(ablation.rates);
  return command + " --archive " + ablation.policy + ".h5";
}

}  // namespace analysis
