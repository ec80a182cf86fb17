#pragma once
#include <string>

#include "sweeps/definition/params.hpp"

/// What a SpecError says when `action` throws one; "no error" otherwise. Anything else escapes and
/// fails the test.
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const sweep::SpecError& error) {
    return error.what();
  }
  return "no error";
}
