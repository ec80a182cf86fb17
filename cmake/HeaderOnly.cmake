# Libraries that are headers alone: the installed package, or (KVSWEEP_FETCH_DEPS) a release archive pinned by its hash.
set(tomlplusplus_URL https://github.com/marzer/tomlplusplus/archive/refs/tags/v3.4.0.tar.gz)
set(tomlplusplus_SHA256 8517f65938a4faae9ccf8ebb36631a38c1cadfb5efa85d9a72e15b9e97d25155)
set(tomlplusplus_RELEASE 3.4.0)
set(tomlplusplus_HEADERS include)

# The parser asserts what a malformed table header ("[}") breaks, before it reports that header as an error. Packages are
# compiled without assertions; so is a fetched copy, in every preset.
set(tomlplusplus_OPTIONS "-DTOML_ASSERT(condition)=static_assert(true)")

set(nlohmann_json_URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
set(nlohmann_json_SHA256 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
set(nlohmann_json_RELEASE 3.11.3)
set(nlohmann_json_HEADERS include)

set(Catch2_URL https://github.com/catchorg/Catch2/archive/refs/tags/v2.13.10.tar.gz)
set(Catch2_SHA256 d54a712b7b1d7708bc7a819a8e6e47b2fde9536f487b89ccbca295072a7d9943)
set(Catch2_RELEASE 2.13.10)
set(Catch2_HEADERS single_include)

# The library's own CMakeLists is not run (hence the folder that does not exist): its include folder is all that is used.
macro(kvsweep_fetch_header_only name target)
  FetchContent_Declare(${name} URL ${${name}_URL} URL_HASH SHA256=${${name}_SHA256}
                       DOWNLOAD_EXTRACT_TIMESTAMP OFF SOURCE_SUBDIR headers-alone)
  FetchContent_MakeAvailable(${name})
  string(TOLOWER ${name} lower)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${${lower}_SOURCE_DIR}/${${name}_HEADERS})
  target_compile_options(${target} INTERFACE ${${name}_OPTIONS})
  set(${name}_VERSION ${${name}_RELEASE})
  set(${name}_DIR "fetched" CACHE STRING "" FORCE)
  list(APPEND CMAKE_MODULE_PATH ${${lower}_SOURCE_DIR}/contrib)   # Catch2's test discovery
endmacro()

# kvsweep_find_header_only(<name> <target> <least version> <Debian/Ubuntu package>): by CMake package, then by
# pkg-config, then by download. The version is compared here: Catch2's own version file refuses 3 where 2.13 is asked for.
macro(kvsweep_find_header_only name target least package)
  find_package(${name} QUIET CONFIG)
  if(TARGET ${target} AND ${name}_VERSION VERSION_LESS ${least})
    message(FATAL_ERROR "${name} ${${name}_VERSION} (${${name}_DIR}) is too old: kvsweep needs ${least} or later")
  endif()
  if(NOT TARGET ${target} AND PKG_CONFIG_FOUND)
    pkg_check_modules(PC_${name} QUIET IMPORTED_TARGET ${name}>=${least})
    if(PC_${name}_FOUND)
      add_library(${target} ALIAS PkgConfig::PC_${name})
      set(${name}_VERSION ${PC_${name}_VERSION})
    endif()
  endif()
  if(NOT TARGET ${target} AND KVSWEEP_FETCH_DEPS)
    kvsweep_fetch_header_only(${name} ${target})
  endif()
  if(NOT TARGET ${target})
    list(APPEND kvsweep_missing ${package})
  endif()
endmacro()
