# Run at every build: fills the commit and the digest of the engine into driver/version.hpp and touches the file only when it changed.
set(commit "unknown")
if(GIT)
  # The commit, whatever tags it has. Without optional locks: a build must not get in the way of a commit that is being made.
  execute_process(COMMAND ${GIT} --no-optional-locks describe --always --dirty --abbrev=12 --exclude *
                  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()

# The sources that decide what a cell on a GPU does and how fast: cells with equal digests were measured with one program.
function(digest_of result)
  set(hashes "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}
         ${SOURCE_DIR}/${folder}/*.cpp ${SOURCE_DIR}/${folder}/*.hpp ${SOURCE_DIR}/${folder}/*.cu ${SOURCE_DIR}/${folder}/*.cuh)
    list(SORT sources)
    foreach(source ${sources})
      file(SHA256 ${SOURCE_DIR}/${source} hash)
      string(APPEND hashes "${hash} ${source}\n")
    endforeach()
  endforeach()
  string(SHA256 digest "${hashes}")
  set(${result} ${digest} PARENT_SCOPE)
endfunction()

function(write_if_changed file text)
  set(old "")
  if(EXISTS ${file})
    file(READ ${file} old)
  endif()
  if(NOT text STREQUAL old)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

digest_of(engine_digest kernels workers/engine workers/policies workers/workload workers/model workers/backends/cuda)
file(READ ${TEMPLATE} text)
string(REPLACE "{engine_digest}" "${engine_digest}" text "${text}")
string(REPLACE "{commit}" "${commit}" text "${text}")
write_if_changed(${HEADER} "${text}")

# Those that decide how long a step on a GPU takes. In a header of its own, which few commits change.
digest_of(kernels_digest kernels workers/backends/cuda)
file(READ ${KERNELS_TEMPLATE} text)
string(REPLACE "{kernels_digest}" "${kernels_digest}" text "${text}")
write_if_changed(${KERNELS_HEADER} "${text}")
