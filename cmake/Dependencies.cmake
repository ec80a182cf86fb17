# Everything kvsweep builds on, as imported targets. Packages first; header-only libraries may be fetched
# (KVSWEEP_FETCH_DEPS) where a machine has none.
include(FetchContent)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
find_package(LibLZMA REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)

find_package(nlohmann_json 3.9 QUIET CONFIG)
find_package(tomlplusplus 3.3 QUIET CONFIG)
if(NOT tomlplusplus_FOUND)
  pkg_check_modules(TOMLPLUSPLUS QUIET IMPORTED_TARGET tomlplusplus>=3.3)
  if(TOMLPLUSPLUS_FOUND)
    add_library(tomlplusplus::tomlplusplus ALIAS PkgConfig::TOMLPLUSPLUS)
  endif()
endif()
