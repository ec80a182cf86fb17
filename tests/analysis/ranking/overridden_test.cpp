#include "analysis/ranking/overridden.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

namespace {

using Texts = std::vector<std::string>;

Texts overridden(const ArchivedCells& archive) {
  const auto cells = archive.cells();
  return analysis::overridden_presets(arrange(analysis::with_results(cells)));
}

}  // namespace

TEST_CASE("a pool other than the card's is named, unless it is an axis") {
  const auto said = [](bool is_axis) {
    ArchivedCells archive;
    sweep::CellRecord& cell = archive.add({{"policy", text("fcfs")}}, 1);
    cell.notes = {{"pool", "engine.kv_tokens=8192"}};
    if (is_axis) cell.axes.emplace_back("engine.kv_tokens", whole(8192));
    return overridden(archive);
  };
  CHECK(said(false) ==
        Texts{"h100-80gb runs with engine.kv_tokens=8192 (the pool of the card is another)"});
  CHECK(said(true).empty());
}

TEST_CASE("a cost model whose constants are scaled is named") {
  const auto said = [](double scale) {
    ArchivedCells archive;
    archive.add({{"policy", text("fcfs")}, {"sim.token_scale", sweep::Value(scale)}}, 1).notes = {
        {"cost_model", "published"}};
    return overridden(archive);
  };
  CHECK(said(1.06) == Texts{"the cost model published runs with sim.token_scale=1.06 (scaled or "
                            "replaced by the sweep)"});
  CHECK(said(1).empty());
}

TEST_CASE("a cost model that was fitted to older kernels is named with its card") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1).notes = {{"cost_model_fit", "older kernels"}};
  CHECK(overridden(archive) == Texts{"h100-80gb runs with cost-model constants of older kernels "
                                     "(fitted to other kernels than this program's)"});
}
