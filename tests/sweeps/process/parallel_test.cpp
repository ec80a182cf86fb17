#include "sweeps/process/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/support/catch.hpp"

using namespace sweep;

TEST_CASE("every piece of parallel work is done once, on any number of threads") {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> done(count);
      in_parallel(count, threads, [&](std::size_t i) { ++done[i]; });
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& each) { return each == 1; }));
    }
  }
}

TEST_CASE("an error in one piece of parallel work ends all of it") {
  for (const int threads : {1, 4}) {
    std::atomic<int> done = 0;
    CHECK_THROWS_WITH(in_parallel(1000, threads,
                                  [&](std::size_t i) {
                                    if (i == 3) throw std::runtime_error("piece 3");
                                    ++done;
                                  }),
                      "piece 3");
    CHECK(done < 1000);
  }
}
