#include "analysis/compare/config.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

namespace {

constexpr const char* kOld = "sweeps/measured/order-or-pins-h100.h5";

}  // namespace

TEST_CASE("an older archive's jobs tell how long they waited for their first token") {
  sweep::ArchiveReader archive(kOld);
  for (const sweep::CellRecord& record : archive.cells()) {
    analysis::ConfiguredCell cell(record);
    REQUIRE(cell.find_figure(analysis::kFirstTokenP99) == nullptr);
    derive_figures(cell, archive, record.index);
    const bool has_jobs = record.has_result(sweep::RecordLevel::jobs);
    CHECK(std::isnan(cell.figure(analysis::kFirstTokenP99)) == !has_jobs);
    if (has_jobs && record.index == 3)
      CHECK(cell.figure(analysis::kFirstTokenP99) == Approx(0.675555));  // by numpy
  }
}

TEST_CASE("a figure that the archive has is not derived") {
  sweep::CellRecord record;
  record.config_json = std::string("{}");
  record.status = sweep::CellStatus::ok;
  record.figures = {{analysis::kFirstTokenP99, 7, "s"}};
  analysis::ConfiguredCell cell(record);
  sweep::ArchiveReader archive(kOld);
  derive_figures(cell, archive, 0);
  CHECK(cell.derived.empty());
  CHECK(cell.figure(analysis::kFirstTokenP99) == 7);
}
