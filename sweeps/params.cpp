#include "sweeps/params.hpp"
