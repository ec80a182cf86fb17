#include "analysis/text/page_parts.hpp"  // of another room alone
#include "sweeps/archive/archive.hpp"
#include "workers/cell/experiment.hpp"  // analysis reads archives only
