#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/archive/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

TEST_CASE("rows are copied in any order, whatever is kept unpacked of their columns", "[archive]") {
  constexpr std::int64_t kCells = 9, kRows = 10'000;  // six chunks
  const support::TempDir folder;
  const std::string path = (folder.path() / "from.h5").string();
  {
    const H5File file = create_h5(path);
    Table rows{"steps", {{"i", "", "", false, {}, std::vector<std::int64_t>(kRows)}}};
    create_growing_table(file.get(), rows);
    TableAppender appender(file.get(), "steps", nullptr);
    for (std::int64_t cell = 0; cell < kCells; ++cell) {
      auto& values = std::get<std::vector<std::int64_t>>(rows.columns[0].data);
      for (std::int64_t i = 0; i < kRows; ++i)
        values[static_cast<std::size_t>(i)] = cell * kRows + i;
      appender.append(rows, static_cast<std::int32_t>(cell));
    }
    appender.finish();
  }
  std::vector<MovedRows> moved;
  std::vector<std::int64_t> expected;
  for (const std::int64_t cell : {8, 0, 7, 1, 6, 2, 5, 3, 4, 8, 0}) {
    moved.push_back({static_cast<std::int32_t>(moved.size()), {cell * kRows, kRows}});
    for (std::int64_t i = 0; i < kRows; ++i) expected.push_back(cell * kRows + i);
  }
  const std::size_t chunk = kChunkRows * sizeof(std::int64_t);
  for (const std::size_t unpacked : {std::size_t{1}, 2 * chunk, 100 * chunk}) {
    const H5File from = open_h5(path);
    const H5File to = create_h5((folder.path() / std::to_string(unpacked)).string());
    copy_rows(from.get(), to.get(), "steps", moved, unpacked);
    CHECK(read_table(to.get(), "steps").values<std::int64_t>("i") == expected);
  }
}
