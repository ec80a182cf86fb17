#pragma once
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "workers/binding/binding.hpp"

namespace driver {

/// A cell cannot be bound as it was; what() says why.
struct NotRestored : sweep::SpecError {
  using sweep::SpecError::SpecError;
};

/// The configuration of an archived cell, on sim: a cell of a real backend becomes the same cell on
/// sim, with the pool that it had. Files that it read must be named in `set`
/// ("workload.path=FILE"), since an archive has only their digests. Throws sweep::SpecError, as
/// NotRestored.
worker::ExperimentConfig restored(const analysis::ConfiguredCell& cell,
                                  const std::vector<std::string>& set, worker::Profiles& profiles);

}  // namespace driver
