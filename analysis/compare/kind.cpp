#include "analysis/compare/kind.hpp"

namespace analysis {

FiguresKind kind_of(const ConfiguredCell& cell) {
  if (cell.record->backend == "server")
    return {"server", shown(cell.value("server.kind")) + ' ' + shown(cell.value("server.version")),
            "-"};
  return {cell.record->backend, shown(cell.value("sim.cost_model")),
          shown(cell.value("engine.emulate"))};
}

std::string to_text(const FiguresKind& kind) {
  std::string text = (kind.backend == "sim" ? "MODELLED (" : "MEASURED (") + kind.backend;
  if (kind.cost_model != "-") text += ", " + kind.cost_model;
  if (kind.emulate != "-") text += ", pool of " + kind.emulate;
  return text + ')';
}

}  // namespace analysis
