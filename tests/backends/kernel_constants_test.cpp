#include <cstdlib>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

TEST_CASE("the shipped kernel constants are the ones that the fit gives") {
  const auto data = support::shared_path("data/costmodel");
  if (!data) SKIP_TEST("no kernel timings (data/costmodel)");
  if (std::system("python3 --version > /dev/null 2>&1") != 0) SKIP_TEST("no python3");
  const std::string fit =
      "python3 analysis/python/fit_kernels.py '" + data->string() + "' --check sweeps/gpus";
  CHECK(std::system(fit.c_str()) == 0);
}
