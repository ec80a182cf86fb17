# Libraries that are compiled and that clusters often lack: with KVSWEEP_FETCH_DEPS, a release archive pinned by its hash,
# built as a static library with kvsweep. FETCHCONTENT_SOURCE_DIR_<NAME> takes an unpacked archive in place of the download,
# for machines without a network.
set(kvsweep_boost_URL https://github.com/boostorg/boost/releases/download/boost-1.86.0/boost-1.86.0-cmake.tar.xz)
set(kvsweep_boost_SHA256 2c5ec5edcdff47ff55e27ed9560b0a0b94b07bd07ed9928b476150e16b0efc57)
set(kvsweep_boost_RELEASE 1.86.0)

set(kvsweep_pcre2_URL https://github.com/PCRE2Project/pcre2/releases/download/pcre2-10.42/pcre2-10.42.tar.bz2)
set(kvsweep_pcre2_SHA256 8d36cd8cb6ea2a4c2bb358ff6411b0c788633a2a45dabbf1aeb4b701d1b5e840)
set(kvsweep_pcre2_RELEASE 10.42)

set(kvsweep_xz_URL https://github.com/tukaani-project/xz/releases/download/v5.4.6/xz-5.4.6.tar.gz)
set(kvsweep_xz_SHA256 aeba3e03bf8140ddedf62a0a367158340520f6b384f75ca6045ccc6c0d43fd5c)
set(kvsweep_xz_RELEASE 5.4.6)
set(kvsweep_xz_HEADERS src/liblzma/api)

# kvsweep_fetch_compiled(<boost|pcre2|xz> <target that kvsweep links> <target of the project>)
# A function, so that what is set for the foreign project stays there.
function(kvsweep_fetch_compiled name target theirs)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)   # their option() does not override these
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(BOOST_INCLUDE_LIBRARIES program_options)
  set(BOOST_ENABLE_CMAKE ON)
  set(PCRE2_BUILD_PCRE2GREP OFF)
  set(PCRE2_BUILD_TESTS OFF)
  set(PCRE2_SUPPORT_JIT ON)
  set(CREATE_XZ_SYMLINKS OFF)     # their rules clash under Ninja in a project of another
  set(CREATE_LZMA_SYMLINKS OFF)
  # SYSTEM comes first: as the last word, CMake 3.25 takes it for a part of the hash.
  FetchContent_Declare(${name} SYSTEM URL ${kvsweep_${name}_URL} URL_HASH SHA256=${kvsweep_${name}_SHA256}
                       DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  FetchContent_MakeAvailable(${name})
  if(NOT TARGET ${theirs})
    message(FATAL_ERROR "${name} ${kvsweep_${name}_RELEASE} defines no target ${theirs}; is "
                        "${${name}_SOURCE_DIR} an unpacked ${kvsweep_${name}_URL}?")
  endif()
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${target} INTERFACE ${theirs})
    if(kvsweep_${name}_HEADERS)   # where their target names no folder to its users
      target_include_directories(${target} INTERFACE ${${name}_SOURCE_DIR}/${kvsweep_${name}_HEADERS})
    endif()
  endif()
endfunction()
