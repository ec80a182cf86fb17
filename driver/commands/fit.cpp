#include <algorithm>
#include <iostream>
#include <set>

#include "analysis/compare/config.hpp"
#include "analysis/digest/fits.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;
using sweep::formatted;

/// The value that all cells share. Throws UsageError when there are several: a fit over two cards
/// describes neither.
std::string only_one(const std::string& what, const std::set<std::string>& values) {
  if (values.size() == 1) return *values.begin();
  throw UsageError("fit needs cells of one " + what + ", found " +
                   (values.empty() ? "none with a result" : sweep::joined(values)) +
                   ": choose with --only");
}

struct Measured {
  std::string gpu, model, backend;
  std::size_t cells = 0;  // whose steps are fitted
  analysis::StepFit fit;
  std::set<std::string> kernels{};  // digests; empty in cells of earlier versions
  std::string server = {};          // whose steps were logged: kind, version, how it schedules
};

std::string note_of(const sweep::CellRecord& cell, std::string_view name) {
  const sweep::Note* note = sweep::find_named(cell.notes, name);
  return note == nullptr ? "" : note->text;
}

/// The kind, version and scheduling of a server that logged steps in this cell; empty for others.
std::string logging_server(const sweep::CellRecord& cell) {
  if (!has_logged_steps(cell)) return "";
  const std::string steps = note_of(cell, "server_steps");
  return note_of(cell, "server") + ", " + steps.substr(0, steps.find(';'));
}

/// Whether a server of this name schedules asynchronously.
bool is_async(const std::string& server) {
  return server.find(", asynchronous") != std::string::npos;
}

/// Adds the steps of these cells: of servers those that were logged alone.
void add_steps(sweep::ArchiveReader& reader, const std::vector<int>& rows, Measured& found) {
  std::set<std::string> servers;
  std::size_t logged = 0;
  for (const int row : rows) {
    const std::string server = found.backend == "server"
                                   ? logging_server(reader.cells()[static_cast<std::size_t>(row)])
                                   : "";
    found.fit.add(reader.load_table(row, "steps"), reader.load_table(row, "sched"),
                  is_async(server) ? analysis::StepFit::kAsyncSpan : 1);
    if (server.empty()) continue;
    ++logged;
    servers.insert(server);
  }
  if (logged == 0) return;
  found.server = analysis::terminal_text(only_one("server", servers));
  found.cells = logged;
}

/// Cells that are stored without their steps are left out of the fit, and refused where none has
/// any.
Measured measure(sweep::ArchiveReader& reader, const Options& options) {
  std::set<std::string> gpus, models, backends, kernels;
  std::vector<int> rows;  // reading may replace the reader's cells
  const std::vector<ConfiguredCell> cells = finished_cells(reader.cells(), options);
  for (const ConfiguredCell& cell : cells) {
    if (sweep::lack_of_table(*cell.record, "steps").empty()) rows.push_back(cell.record->index);
    if (analysis::shown(cell.value("engine.kv_dtype")) == "fp8_e4m3")
      throw UsageError(
          "fit needs cells of engine.kv_dtype bf16, whose constants sim scales for others: choose "
          "with --only");
    gpus.insert(analysis::shown(cell.value("gpu")));
    models.insert(analysis::shown(cell.value("model")));
    backends.insert(cell.record->backend);
    kernels.insert(note_of(*cell.record, "kernels_digest"));
  }
  if (rows.empty() && !cells.empty()) require_table(*cells.front().record, "steps");
  using analysis::terminal_text;  // these are printed
  Measured found{terminal_text(only_one("gpu", gpus)),
                 terminal_text(only_one("model", models)),
                 terminal_text(only_one("backend", backends)),
                 rows.size(),
                 {},
                 std::move(kernels)};
  add_steps(reader, rows, found);
  return found;
}

/// Where the card's profile has the constants of a server, "vllm 0.26.0, asynchronous", or of
/// this engine.
std::string table_of(const std::string& server) {
  if (server.empty()) return "[measured]";
  const std::size_t comma = server.rfind(", "), patch = server.rfind('.', comma);
  return "[servers.\"" + server.substr(0, std::min(patch, comma)) + "\"." +
         (is_async(server) ? "async" : "sync") + "]  # of " + server;
}

void print_constants(const Measured& found, const analysis::Plane& plane, std::ostream& out) {
  const auto slope = [&](std::size_t i, double unit) {
    return formatted("%.4g", i < plane.slopes.size() ? plane.slopes[i] * unit : 0.0);
  };
  out << '\n'
      << table_of(found.server) << "\nmodel = \"" << found.model
      << "\"\nbase_ms = " << formatted("%.4g", plane.intercept * 1e3)
      << "\ntoken_us = " << slope(analysis::StepFit::tokens, 1e6)
      << "\nkv_token_ns = " << slope(analysis::StepFit::kv_tokens, 1e9)
      << "\npair_ps = " << slope(analysis::StepFit::pairs, 1e12) << '\n';
  if (found.kernels.size() == 1 && !found.kernels.begin()->empty())
    out << "kernels_digest = \"" << analysis::terminal_text(*found.kernels.begin()) << "\"\n";
  else if (found.server.empty())  // a server has its own kernels
    out << "# kernels_digest: the cells ran with several kernels, or do not say with which\n";
}

void print(const Measured& found, std::ostream& out) {
  const bool real = found.backend != "sim";
  out << (real ? "MEASURED" : "MODELLED") << " (" << found.backend
      << (found.server.empty() ? "" : ", " + found.server) << "): " << found.fit.steps()
      << " steps of " << found.cells << " cells, " << found.model << " on " << found.gpu << "\n\n";
  std::optional<analysis::Plane> finest;
  for (std::size_t variables = 1; variables <= analysis::StepFit::count; ++variables)
    if (const auto plane = found.fit.plane(variables)) {
      out << analysis::step_formula(*plane) << '\n';
      finest = plane;
    }
  // Constants of a card come from that card alone: on other backends `gpu` is only a label. Without
  // the term for KV the steps do not determine them.
  const bool of_card = found.backend == "cuda" || found.backend == "server";
  if (of_card && finest && finest->slopes.size() > analysis::StepFit::kv_tokens)
    print_constants(found, *finest, out);
}

}  // namespace

int fit(const Options& options) {
  sweep::ArchiveReader reader = open_archive(options.arguments.front());
  const Measured found = measure(reader, options);
  if (found.backend == "server" && found.server.empty())
    throw UsageError(
        "fit needs steps, and the server of these cells did not log them (server.steps = true)");
  print(found, std::cout);
  return kOk;
}

}  // namespace driver
