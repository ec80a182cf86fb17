#pragma once
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// The parameter of rules that count contexts: whether a program's tokens are only those that it
/// adds to the programs before it.
inline constexpr const char* kSharedPrefixWords[] = {"each", "once"};
inline constexpr Parameter kSharedPrefixes = {
    .name = "shared_prefixes",
    .words = kSharedPrefixWords,
    .is_neutral = true,
    .says =
        "Whether a prefix that contexts share counts for each program, or once for all of them."};
inline bool counts_once(const Parameters& given) {
  return word_of(kSharedPrefixes, given) == "once";
}

}  // namespace policies
