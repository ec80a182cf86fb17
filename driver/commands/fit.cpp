#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>

#include "analysis/compare_config.hpp"
#include "analysis/prediction.hpp"
#include "analysis/step_fit.hpp"
#include "driver/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;

/// The one value that all cells have; UsageError otherwise: a fit over two cards is none of either.
std::string only_one(const std::string& what, const std::set<std::string>& values) {
  if (values.size() == 1) return *values.begin();
  std::string found;
  for (const std::string& value : values) found += (found.empty() ? "" : ", ") + value;
  throw UsageError("fit needs cells of one " + what + ", found " +
                   (values.empty() ? "none with a result" : found) + ": choose with --only");
}

struct Measured {
  std::string gpu, model, backend;
  std::size_t cells = 0;
  analysis::StepFit fit;
};

std::vector<ConfiguredCell> finished(const sweep::ArchiveReader& reader, const Options& options) {
  std::vector<ConfiguredCell> cells = selected_cells(reader.cells(), options);
  std::erase_if(cells, [](const ConfiguredCell& cell) {
    return cell.record->status != sweep::CellStatus::ok;
  });
  return cells;
}

Measured measure(sweep::ArchiveReader& reader, const Options& options) {
  std::set<std::string> gpus, models, backends;
  std::vector<int> rows;  // reading may replace the reader's cells
  for (const ConfiguredCell& cell : finished(reader, options)) {
    rows.push_back(cell.record->index);
    gpus.insert(analysis::shown(cell.value("gpu")));
    models.insert(analysis::shown(cell.value("model")));
    backends.insert(cell.record->backend);
  }
  Measured found{only_one("gpu", gpus),
                 only_one("model", models),
                 only_one("backend", backends),
                 rows.size(),
                 {}};
  for (const int row : rows)
    found.fit.add(reader.load_table(row, "steps"), reader.load_table(row, "sched"));
  return found;
}

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

void print(const Measured& found, std::ostream& out) {
  const analysis::LineFit line = found.fit.line();
  const analysis::StepPlane plane = found.fit.plane();
  const bool real = found.backend != "sim";
  out << (real ? "MEASURED" : "MODELLED") << " (" << found.backend << "): " << line.n
      << " steps of " << found.cells << " cells, " << found.model << " on " << found.gpu << "\n\n"
      << "step = " << formatted("%.2f", line.intercept * 1e3) << " ms + "
      << formatted("%.2f", line.slope * 1e6) << " us x scheduled tokens; R2 "
      << formatted("%.3f", line.r_squared) << '\n'
      << "step = " << formatted("%.2f", plane.base * 1e3) << " ms + "
      << formatted("%.2f", plane.per_token * 1e6) << " us x scheduled tokens + "
      << formatted("%.2f", plane.per_kv_token * 1e9) << " ns x KV tokens read; R2 "
      << formatted("%.3f", plane.r_squared) << ", leaves " << formatted("%.2f", plane.rms_s * 1e3)
      << " ms (root mean square)\n";
  // What a processor plays the part of is only a label, and a fit that is undetermined is none.
  if (found.backend != "cuda" || std::isnan(plane.base)) return;
  out << "\n[measured]\nmodel = \"" << found.model
      << "\"\nbase_ms = " << formatted("%.4g", plane.base * 1e3)
      << "\ntoken_us = " << formatted("%.4g", plane.per_token * 1e6)
      << "\nkv_token_ns = " << formatted("%.4g", plane.per_kv_token * 1e9) << '\n';
}

}  // namespace

int fit(const Options& options) {
  sweep::ArchiveReader reader = open_archive(options.arguments.front());
  const Measured found = measure(reader, options);
  if (options.arguments.size() == 1) {
    print(found, std::cout);
    return kOk;
  }
  const sweep::ArchiveReader model = open_archive(options.arguments[1]);
  const std::vector<ConfiguredCell> simulated = finished(model, {});
  const bool all_sim = std::ranges::all_of(
      simulated, [](const ConfiguredCell& cell) { return cell.record->backend == "sim"; });
  if (found.backend == "sim" || !all_sim)
    throw UsageError(
        "fit of two archives holds measured cells against simulated ones, in this "
        "order");
  print(found, std::cout);
  try {
    analysis::print_predictions(finished(reader, options), simulated, options.metric, std::cout);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
