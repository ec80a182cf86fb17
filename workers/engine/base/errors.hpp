#pragma once
#include <stdexcept>

namespace engine {

/// The user's input is wrong: the message names file, line, what was found and what is allowed.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace engine
