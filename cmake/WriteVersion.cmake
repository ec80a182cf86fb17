# Run at every build: fills the commit into driver/version.hpp and touches the file only when it changed.
set(commit "unknown")
if(GIT)
  # Without optional locks: a build must not get in the way of a commit that is being made.
  execute_process(COMMAND ${GIT} --no-optional-locks describe --always --dirty --abbrev=12
                  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()

file(READ ${TEMPLATE} text)
string(REPLACE "{commit}" "${commit}" text "${text}")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${HEADER} "${text}")
endif()
