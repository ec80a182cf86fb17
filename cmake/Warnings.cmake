# One way to declare a target: warnings, sanitizers and the include root (the repository) come with it.
function(kvsweep_target_defaults target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion>)
  if(CMAKE_UNITY_BUILD)   # the file that is compiled is not the one that has the unnamed namespace
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  # GCC looks for memory to use again in what it keeps, up to a twelfth of its time, until it has this much.
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:--param=ggc-min-heapsize=600000>")
  # GCC 12 sees copies that overlap in a text literal + std::string (its bug 105651).
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:-Wno-restrict>)
  endif()
  if(KVSWEEP_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(KVSWEEP_ASSERT)
    target_compile_options(${target} PRIVATE -UNDEBUG)
  endif()
  if(KVSWEEP_SANITIZE)   # host code only: nvcc knows none of these flags
    foreach(flag -fsanitize=${KVSWEEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
    endforeach()
    # GCC's instrumented code looks uninitialized to itself, std::regex for one; the other presets keep the warning.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PRIVATE -fsanitize=${KVSWEEP_SANITIZE})
  endif()
endfunction()

# kvsweep_library(name SOURCES... [PUBLIC targets] [PRIVATE targets])
function(kvsweep_library target)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${target} STATIC ${ARG_SOURCES})
  kvsweep_target_defaults(${target})
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# kvsweep_room(FOLDER [EXCEPT files...] [PUBLIC targets...] [PRIVATE targets...]): a folder as a library, whose target is named after
# its path: sweeps/archive is sweeps_archive. All .cpp files of the folder belong to it, EXCEPT those that another target compiles.
function(kvsweep_room folder)
  cmake_parse_arguments(ARG "" "" "EXCEPT;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(file ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${folder}/${file})
  endforeach()
  string(REPLACE "/" "_" target ${folder})
  kvsweep_library(${target} SOURCES ${sources} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  # A newcomer waits for the compiler, and measures with what the release preset builds. So only what runs in every step is compiled
  # for speed, what runs for every row in three quarters of that time, and the rest, which runs a few times a command, in little more
  # than half of it. What may be uninitialized, GCC only guesses with -Og.
  set(level "-Og;-Wno-maybe-uninitialized")
  if(folder MATCHES "^(sweeps/(tables|hdf5|archive|upkeep)|workers/(cell|bounds|record|server|workload)|analysis/(cell|compare))")
    set(level -O1)
  endif()
  if(NOT folder MATCHES "^(sweeps/(files|process)|workers/(engine|policies|backends))")
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:${level}>")
  endif()
endfunction()

function(kvsweep_executable target)
  cmake_parse_arguments(ARG "" "" "SOURCES;PRIVATE" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  kvsweep_target_defaults(${target})
  target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
endfunction()
