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
set(hashes "")
foreach(folder kernels workers/engine workers/policies workers/workload workers/model workers/backends/cuda)
  file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}
       ${SOURCE_DIR}/${folder}/*.cpp ${SOURCE_DIR}/${folder}/*.hpp ${SOURCE_DIR}/${folder}/*.cu ${SOURCE_DIR}/${folder}/*.cuh)
  list(SORT sources)
  foreach(source ${sources})
    file(SHA256 ${SOURCE_DIR}/${source} hash)
    string(APPEND hashes "${hash} ${source}\n")
  endforeach()
endforeach()
string(SHA256 engine_digest "${hashes}")

file(READ ${TEMPLATE} text)
string(REPLACE "{engine_digest}" "${engine_digest}" text "${text}")
string(REPLACE "{commit}" "${commit}" text "${text}")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${HEADER} "${text}")
endif()
