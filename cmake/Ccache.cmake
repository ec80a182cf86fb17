# Compiles through ccache where it is installed, unless the user chose a launcher.
find_program(KVSWEEP_CCACHE_PROGRAM ccache)
mark_as_advanced(KVSWEEP_CCACHE_PROGRAM)
if(KVSWEEP_CCACHE AND KVSWEEP_CCACHE_PROGRAM)
  foreach(language C CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      # Test targets use precompiled headers, which ccache handles only when told that it may.
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
          CCACHE_SLOPPINESS=pch_defines,time_macros ${KVSWEEP_CCACHE_PROGRAM})
    endif()
  endforeach()
endif()
