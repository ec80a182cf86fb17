#pragma once
#include <iostream>
#include <string>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
// In version 2, Contains("...") asks for a substring; in version 3 the name belongs to ranges.
namespace Catch::Matchers {
inline auto Contains(const char* part) { return ContainsSubstring(part); }
inline auto Contains(std::string part) { return ContainsSubstring(part); }
}  // namespace Catch::Matchers
#else
#include <catch2/catch.hpp>
#endif

/// Ends a test case that cannot run here; ctest reports it as skipped and shows the reason.
#define SKIP_TEST(reason)                         \
  do {                                            \
    std::cout << "SKIPPED: " << (reason) << '\n'; \
    SUCCEED();                                    \
    return;                                       \
  } while (false)
