#pragma once
// Private to this room: what keeps one policy ahead of another, by the figures of their cells.
#include <string>
#include <vector>

#include "analysis/answer/arrangement.hpp"

namespace analysis {

/// A policy beside another one, at one rate or several.
struct WhatItDoes {
  struct Pair {
    std::vector<double> own, other;  // at each rate at which both were observed
  };
  std::string name;     // of the other policy; empty: there is none
  std::string differs;  // "other order and retention"
  Pair found_percent, recomputed_tok, queue_s;

  void add(const WhatItDoes& at_another_rate);

  /// "90 to 91 % of prompt tokens found in a cache (fcfs 36 to 40 %)"; empty if not observed.
  std::string found_text() const;
  /// "beside continuum (other order, retention and tier): 13 k tokens recomputed, not 314 k; mean
  /// queue 0.09 s, not 0.62 s". Figures less than a tenth apart are left out; empty without others.
  std::string text() const;
};

WhatItDoes what_it_does(const PolicyCells& policy, const PolicyCells& other);

}  // namespace analysis
