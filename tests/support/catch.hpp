#pragma once
#include <iostream>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

/// Ends a test case that cannot run here. ctest reports it as skipped, with the reason in its
/// output.
#define SKIP_TEST(reason)                         \
  do {                                            \
    std::cout << "SKIPPED: " << (reason) << '\n'; \
    SUCCEED();                                    \
    return;                                       \
  } while (false)
