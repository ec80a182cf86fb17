#pragma once

namespace sweep {

/// One attempt at a cell.
struct Attempt {
  int cell = 0;    // its index in the plan
  int number = 0;  // counts from 1 over all runs; 0: never attempted
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

}  // namespace sweep
