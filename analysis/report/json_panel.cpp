#include <algorithm>
#include <cmath>

#include "analysis/answer/mechanisms.hpp"
#include "analysis/report/json.hpp"
#include "analysis/text/packed.hpp"

namespace analysis {
namespace {

void add_figures(JsonLine& json, const ReportGroup& group) {
  json.key("figures").open('{');
  for (const std::string_view metric : kReportMetrics) {
    const Rated& figure = group.figures.find(metric)->second;
    if (std::isnan(figure.mean.value)) continue;
    json.key(metric).open('{').key("unit").text(figure.unit);
    add_exact(json.key("mean"), figure.mean.value);
    json.key("interval");
    add_interval(json, figure.mean.interval);
    add_exact(json.key("ratio"), figure.over_fcfs.value);
    json.key("ratio_interval");
    add_interval(json, figure.over_fcfs.interval);
    add_exact(json.key("published"), figure.published);
    if (!std::isnan(figure.bound)) add_exact(json.key("bound"), figure.bound);
    json.key("standing").text(figure.standing).close('}');
  }
  json.close('}');
}

void add_fit(JsonLine& json, const LineFit& fit) {
  json.key("fit").open('{');
  add_exact(json.key("slope_us"), fit.slope * 1e6);
  add_exact(json.key("intercept_ms"), fit.intercept * 1e3);
  add_exact(json.key("r2"), fit.r_squared);
  json.key("n").integer(static_cast<std::int64_t>(fit.n)).close('}');
}

void add_histogram(JsonLine& json, const TokenHistogram& histogram) {
  json.key("histogram").open('[');
  for (const auto& [bin, count] : histogram.counts()) {
    json.open('[').integer(TokenHistogram::first_of(bin));
    json.integer(TokenHistogram::first_of(bin + 1)).integer(count).close(']');
  }
  json.close(']');
}

void add_sizes(JsonLine& json, std::string_view key, const StepSizes& sizes) {
  json.key(key).open('{');
  add_histogram(json, sizes.histogram);
  add_fit(json, sizes.line.fit());
  json.key("points").open('[');  // tokens, milliseconds, steps; flat
  for (const ThinnedPoints::Point& point : sizes.points.points())
    add_brief(add_brief(json, point.x), point.y * 1e3).integer(point.count);
  json.close(']').close('}');
}

void add_pooled_sizes(JsonLine& json, std::string_view key, const StepSizes& sizes) {
  json.key(key).open('{');
  add_histogram(json, sizes.histogram);
  add_fit(json, sizes.line.fit());
  json.close('}');
}

void add_turns(JsonLine& json, const std::vector<TurnSums>& turns) {
  json.key("turns").open('[');
  for (const TurnSums& turn : turns) {
    const auto n = static_cast<double>(turn.turns);
    json.open('[').integer(turn.turns);
    add_brief(add_brief(json, mean(turn.durations_s)), percentile(turn.durations_s, 95));
    for (const double tokens : {turn.gpu_tok, turn.host_tok, turn.again_tok, turn.new_tok})
      add_brief(json, tokens / n);
    json.close(']');
  }
  json.close(']');
}

void add_jct(JsonLine& json, const JobDigest& jobs) {
  json.key("jobs").integer(static_cast<std::int64_t>(jobs.jct_s.size()));
  json.key("jct").open('[');  // every percentile
  std::vector<double> sorted = jobs.jct_s;
  std::ranges::sort(sorted);
  for (int percent = 0; percent <= 100 && !sorted.empty(); ++percent)
    add_brief(json, percentile(sorted, percent));
  json.close(']').key("parts").open('[');
  for (const double sum : jobs.part_s)
    add_brief(json, sum / static_cast<double>(jobs.jct_s.size()));
  json.close(']');
}

void add_times(JsonLine& json, const std::vector<CellTimes>& repeats) {
  json.key("times").open('[');
  for (const CellTimes& times : repeats) {
    json.open('{');
    add_brief(json.key("end"), times.end_s);
    const std::size_t spans = times.lines.empty() ? 0 : times.lines.front().values.size();
    json.key("spans").integer(static_cast<std::int64_t>(spans)).key("lines").open('[');
    for (const TimeLine& line : times.lines) {
      const ScaledLine scaled = scaled_line(line.values);
      json.open('{').key("name").text(line.name).key("unit").text(line.unit);
      add_brief(json.key("largest"), scaled.largest);
      json.key("codes").text(scaled.codes).close('}');
    }
    json.close(']').close('}');
  }
  json.close(']');
}

void add_cells(JsonLine& json, const ReportGroup& group) {
  json.key("cells").open('[');
  for (const ConfiguredCell* cell : group.repeats) {
    const sweep::CellRecord& record = *cell->record;
    json.open('{').key("index").integer(record.index).key("key").text(record.key.substr(0, 12));
    json.key("label").text(record.label).key("seed").integer(record.seed).close('}');
  }
  json.close(']');
}

/// Of a number of each repeat: the mean, and the interval.
template <class Of>
void add_mean(JsonLine& json, const ReportGroup& group, Of of) {
  BySeed values;
  for (std::size_t i = 0; i < group.service.size(); ++i) {
    const double value = of(group.service[i]);
    if (!std::isnan(value)) values[group.repeats[i]->record->seed] = value;
  }
  const Estimate mean = mean_of(values);
  add_exact(json.open('['), mean.value);
  add_interval(json, mean.interval);
  json.close(']');
}

void add_service(JsonLine& json, const ReportGroup& group) {
  json.key("service").open('{');
  for (std::size_t latency = 0; latency < kLatencyNames.size(); ++latency) {
    json.key(kLatencyNames[latency]).open('[');
    for (std::size_t i = 0; i < kLatencyPercents.size(); ++i)
      add_mean(json, group, [&](const Service& each) { return each.percentiles_s[latency][i]; });
    json.close(']');
  }
  json.key("attained");
  add_mean(json, group, [](const Service& each) { return each.attained; });
  json.key("goodput");
  add_mean(json, group, [](const Service& each) { return each.goodput_per_s; });
  json.close('}');
}

/// What the policy did: counts of the first repeat, and means of figures over all.
void add_acts(JsonLine& json, const ReportGroup& group) {
  const auto figure = [&](const char* name) { return mean_of(by_seed(group.repeats, name)).value; };
  const Conduct& conduct = group.conduct;
  json.key("acts").open('{');
  json.key("pins").integer(conduct.pins).key("pins_used").integer(conduct.pins_used);
  json.key("evicted_blocks").integer(conduct.evicted_blocks);
  json.key("host_evicted_blocks").integer(conduct.host_evicted_blocks);
  json.key("prefetches").integer(conduct.prefetches);
  add_brief(json.key("overtaking"), conduct.overtaking);
  add_brief(json.key("pinned"), pinned_share_of(group.repeats));
  add_brief(json.key("gpu_hits"), figure("prefix_hit_rate"));
  add_brief(json.key("host_hits"), figure("host_hit_rate"));
  add_brief(json.key("recomputed_tok"), figure("recomputed_tok"));
  add_brief(json.key("preemptions"), figure("preemptions"));
  add_brief(json.key("stalled"), figure("stall_s") / figure("makespan_s"));
  json.close('}');
}

void add_group(JsonLine& json, const ReportGroup& group) {
  json.open('{').key("jps").text(group.jps).key("variant").text(group.variant);
  json.key("dram").text(group.dram);
  json.key("repeats").integer(static_cast<std::int64_t>(group.repeats.size()));
  json.key("p99").text(p99_text({&group.tail, 1}));
  json.key("worse").text(worse_text({&group.tail, 1})).key("from").text(group.from);
  add_cells(json, group);
  add_figures(json, group);
  add_sizes(json, "total", group.steps.total);
  add_sizes(json, "largest", group.steps.largest);
  add_turns(json, group.jobs.by_turn);
  add_jct(json, group.jobs);
  add_times(json, group.times);
  add_service(json, group);
  add_acts(json, group);
  json.close('}');
}

/// Pools all rates of a variant, as the published panels do.
void add_pooled(JsonLine& json, const ReportPanel& panel, const std::string& variant) {
  StepDigest steps;
  JobDigest jobs;
  std::size_t repeats = 0;
  for (const ReportGroup& group : panel.groups) {
    if (!variant.empty() && group.variant != variant) continue;
    steps.add(group.steps);
    if (!variant.empty()) jobs.add(group.jobs);
    repeats = std::max(repeats, group.repeats.size());
  }
  json.open('{').key("variant").text(variant);
  json.key("repeats").integer(static_cast<std::int64_t>(repeats));
  add_pooled_sizes(json, "total", steps.total);
  add_pooled_sizes(json, "largest", steps.largest);
  add_turns(json, jobs.by_turn);
  add_jct(json, jobs);
  json.close('}');
}

void add_pairs(JsonLine& json, std::string_view key,
               const std::vector<std::pair<double, double>>& pairs) {
  json.key(key).open('[');
  for (const auto& [first, second] : pairs)
    add_brief(add_brief(json.open('['), first), second).close(']');
  json.close(']');
}

void add_timeline(JsonLine& json, const GapTimeline& timeline) {
  json.open('{').key("variant").text(timeline.variant);
  const std::pair<const char*, double> numbers[] = {{"finish", timeline.finish_s},
                                                    {"return", timeline.return_s},
                                                    {"admit", timeline.admit_s},
                                                    {"first", timeline.first_s},
                                                    {"end", timeline.end_s},
                                                    {"context", timeline.context_tok},
                                                    {"found_gpu", timeline.found_gpu_tok},
                                                    {"found_host", timeline.found_host_tok},
                                                    {"computed", timeline.computed_tok},
                                                    {"load_stall", timeline.load_stall_s},
                                                    {"recompute", timeline.recompute_s}};
  for (const auto& [name, value] : numbers) add_brief(json.key(name), value);
  add_pairs(json, "gpu", timeline.gpu);
  add_pairs(json, "host", timeline.host);
  add_pairs(json, "pinned", timeline.pinned);
  json.close('}');
}

void add_gap(JsonLine& json, const OneGap& gap) {
  json.open('{').key("jps").text(gap.jps).key("job").text(gap.job).key("turn").integer(gap.turn);
  json.key("stories").open('[');
  for (const GapTimeline& timeline : gap.timelines) add_timeline(json, timeline);
  json.close(']').close('}');
}

}  // namespace

void add_panel(JsonLine& json, const ReportPanel& panel) {
  json.open('{').key("kind").text(panel.place.kind).key("gpu").text(panel.place.gpu);
  json.key("name").text(panel.name);
  json.key("settings").text(panel.place.settings).key("devices").text(panel.devices);
  add_texts(json.key("rates"), panel.rates);
  add_texts(json.key("variants"), panel.variants);
  json.key("groups").open('[');
  for (const ReportGroup& group : panel.groups) add_group(json, group);
  json.close(']').key("pooled").open('[');
  for (const std::string& variant : panel.variants) add_pooled(json, panel, variant);
  json.close(']').key("all").open('[');
  add_pooled(json, panel, "");
  json.close(']').key("gaps").open('[');
  for (const OneGap& gap : panel.gaps) add_gap(json, gap);
  json.close(']');
  add_texts(json.key("sources"), panel.sources);
  add_texts(json.key("remarks"), panel.remarks);
  json.close('}');
}

}  // namespace analysis
