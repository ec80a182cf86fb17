#include "sweeps/tables/decisions.hpp"
#include "sweeps/tables/table.hpp"
