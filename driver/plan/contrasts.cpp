#include "driver/plan/contrasts.hpp"

#include <algorithm>
#include <ostream>

#include "analysis/answer/answer.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace driver {
namespace {

using Texts = std::vector<std::string>;

/// Names of the planned policies, as tables have them: "fcfs", "cpu_offload-16G".
Texts variants_of(const std::vector<analysis::RateRow>& rows) {
  Texts names;
  for (const analysis::RateRow& row : rows)
    for (const analysis::PolicyCells& policy : row.policies)
      if (std::ranges::find(names, policy.variant) == names.end()) names.push_back(policy.variant);
  return names;
}

[[noreturn]] void refuse(const sweep::Param& contrast, const std::string& why) {
  throw sweep::SpecError(sweep::to_text(contrast.where) + ": sweep.contrasts: " + why);
}

void check_variant(const sweep::Param& contrast, const std::string& name,
                   const std::vector<analysis::RateRow>& rows) {
  const auto runs = [&](const analysis::RateRow& row) { return row.named(name) != nullptr; };
  if (std::ranges::any_of(rows, runs)) return;
  const Texts known = variants_of(rows);
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  refuse(contrast,
         "no cell runs \"" + name + '"' + sweep::suggestion(name, known) + "; there are " + list);
}

/// Mean run time of one repeat, in seconds.
double seconds_a_repeat(const analysis::PolicyCells& policy) {
  double sum = 0;
  for (const analysis::ConfiguredCell* cell : policy.repeats) sum += cell->record->run.wall_s;
  return sum / static_cast<double>(policy.repeats.size());
}

const analysis::RateRow& row_of(const std::vector<analysis::RateRow>& rows,
                                const analysis::ContrastResult& result) {
  return *std::ranges::find_if(rows, [&](const analysis::RateRow& row) {
    return row.place == result.place && row.jps == result.jps;
  });
}

}  // namespace

void check_contrasts(const Plan& plan) {
  if (plan.spec.contrasts.empty()) return;
  const std::vector<sweep::CellRecord> records = planned_records(plan);
  std::vector<analysis::ConfiguredCell> cells;
  for (const sweep::CellRecord& record : records)
    if (record.status == sweep::CellStatus::planned) cells.emplace_back(record);
  std::vector<const analysis::ConfiguredCell*> able;
  for (const analysis::ConfiguredCell& cell : cells) able.push_back(&cell);
  const std::vector<analysis::RateRow> rows = analysis::arrange(able);
  const std::vector<analysis::Contrast> contrasts = analysis::contrasts_of(plan.spec);
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    const sweep::Param& written = plan.spec.contrasts[i];
    check_variant(written, contrasts[i].value, rows);
    check_variant(written, contrasts[i].base, rows);
    if (analysis::contrast_results({&contrasts[i], 1}, rows, analysis::kAnswerFigure).empty())
      refuse(written,
             '"' + sweep::bare_text(written.value) + "\" finds no place with cells of both");
  }
}

void print_power(const Plan& plan, const std::vector<analysis::ConfiguredCell>& cells,
                 double percent, std::ostream& out) {
  constexpr double kHour = 3600;
  const std::vector<analysis::Contrast> contrasts = analysis::contrasts_of(plan.spec);
  if (contrasts.empty())
    throw sweep::SpecError(plan.spec.path + ": --power needs comparisons: declare sweep.contrasts");
  const auto rows = analysis::arrange(analysis::with_results(cells));
  analysis::TextTable table;
  for (const char* name : {"contrast", "where", "jps"})
    table.add_column(name, "", analysis::TextTable::Align::left);
  for (const char* name : {"ratio", "low95", "high95", "repeats", "needed"})
    table.add_column(name, "", analysis::TextTable::Align::right);
  table.add_column("further", "worker h", analysis::TextTable::Align::right);
  for (const auto& each : contrast_results(contrasts, rows, analysis::kAnswerFigure)) {
    const analysis::Contrast& contrast = contrasts[each.contrast];
    const analysis::RateRow& row = row_of(rows, each);
    const std::size_t needed = analysis::repeats_for(each.ratio, percent / 100),
                      have = each.ratio.repeats;
    const double more = needed > have ? static_cast<double>(needed - have) : 0;
    const double seconds =
        seconds_a_repeat(*row.named(contrast.value)) + seconds_a_repeat(*row.named(contrast.base));
    table.add_row({contrast.value + " / " + contrast.base,
                   each.place.gpu + (each.place.settings.empty() ? "" : ", " + each.place.settings),
                   each.jps, analysis::four_digits(each.ratio.value),
                   analysis::four_digits(each.ratio.interval.low),
                   analysis::four_digits(each.ratio.interval.high), std::to_string(have),
                   needed == 0 ? "3 first" : std::to_string(needed),
                   needed == 0 ? "-" : analysis::four_digits(more * seconds / kHour)});
  }
  out << "Repeats for 95 % intervals of +-" << analysis::four_digits(percent)
      << " %, by how repeats vary so far:\n\n";
  table.print(out);
}

}  // namespace driver
