#include <catch2/catch.hpp>  // tests include tests/support/catch.hpp

#include "workers/engine/scheduler.hpp"
