# Libraries that are compiled and that clusters may lack: with KVSWEEP_FETCH_DEPS, a release archive pinned by its hash,
# built as a static library with kvsweep. FETCHCONTENT_SOURCE_DIR_<NAME> takes an unpacked archive in place of the download,
# for machines without a network.
set(kvsweep_boost_URL https://github.com/boostorg/boost/releases/download/boost-1.86.0/boost-1.86.0-cmake.tar.xz)
set(kvsweep_boost_SHA256 2c5ec5edcdff47ff55e27ed9560b0a0b94b07bd07ed9928b476150e16b0efc57)
set(kvsweep_boost_RELEASE 1.86.0)

# kvsweep_fetch_compiled(<boost> <target that kvsweep links> <target of the project>)
# A function, so that what is set for the foreign project stays there.
function(kvsweep_fetch_compiled name target theirs)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)   # their option() does not override these
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(BOOST_INCLUDE_LIBRARIES program_options)
  set(BOOST_ENABLE_CMAKE ON)
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
  endif()
endfunction()
