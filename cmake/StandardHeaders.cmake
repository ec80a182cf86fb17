# KVSWEEP_PCH: the standard headers that most files include are parsed once, ahead of all, which takes a third off the time
# that the libraries and the program take to compile. With it a file is not told of a header that it forgot;
# tests/architecture/check_standard_includes.py tells it. <filesystem> and <iomanip> stay out: std::quoted() would be found
# in place of the project's own function.
# GCC 12 alone: optimised around them, std::string sets off warnings about its own inside (-Warray-bounds), elsewhere in each
# version. Files that these hit are compiled without: SKIP_PRECOMPILE_HEADERS.
option(KVSWEEP_PCH "Parse the standard headers that most files include once, ahead of all (GCC 12)" OFF)

set(kvsweep_use_pch OFF)
if(KVSWEEP_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(kvsweep_use_pch ON)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/standard_headers.cpp CONTENT "")
  add_library(standard_headers STATIC ${PROJECT_BINARY_DIR}/generated/standard_headers.cpp)
  kvsweep_target_defaults(standard_headers)
  target_precompile_headers(standard_headers PRIVATE
    <algorithm> <array> <charconv> <cmath> <cstdint> <deque> <functional> <iostream> <map> <memory> <numeric> <optional>
    <set> <span> <sstream> <stdexcept> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)
endif()

function(kvsweep_standard_headers target)
  if(kvsweep_use_pch)
    target_precompile_headers(${target} REUSE_FROM standard_headers)
  endif()
endfunction()
