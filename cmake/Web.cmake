# The pages of `kvsweep report` and `kvsweep trace --view`: report.html and viewer.html in <build>/web, one file each, installed to
# share/kvsweep/web. Built from analysis/web where Node 18.19 or later and npm are there; taken from KVSWEEP_WEB_ASSETS otherwise.
#   KVSWEEP_WEB       ON (default) | OFF
#   kvsweep_web       the target that makes them
#   KVSWEEP_WEB_WHY   why there are none, for tests that skip; empty when there should be some
include(GNUInstallDirs)

option(KVSWEEP_WEB "Build the web pages where npm is there" ON)
set(KVSWEEP_WEB_ASSETS "" CACHE PATH "Folder with report.html and viewer.html of another machine's build")

set(KVSWEEP_WEB_PAGES report.html viewer.html)
set(KVSWEEP_WEB_DIR ${PROJECT_BINARY_DIR}/web)
# A mirror of analysis/web and tests/web: packages and builds of several build folders stay apart, and the sources clean.
set(KVSWEEP_WEB_TREE ${PROJECT_BINARY_DIR}/web-tree)
set(KVSWEEP_WEB_WHY "")

find_program(KVSWEEP_NODE NAMES node nodejs)
find_program(KVSWEEP_NPM npm)
mark_as_advanced(KVSWEEP_NODE KVSWEEP_NPM)

function(kvsweep_why_no_web result)
  set(why "")
  if(NOT KVSWEEP_WEB)
    set(why "KVSWEEP_WEB is OFF")
  elseif(NOT KVSWEEP_NODE OR NOT KVSWEEP_NPM)
    set(why "node or npm is not installed")
  else()
    execute_process(COMMAND ${KVSWEEP_NODE} --version OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" version "${version}")
    if(NOT version VERSION_GREATER_EQUAL 18.19)
      set(why "node '${version}' is older than 18.19")
    endif()
  endif()
  set(${result} "${why}" PARENT_SCOPE)
endfunction()

# The pages of another machine, copied whenever they change.
function(kvsweep_take_web_assets)
  foreach(page ${KVSWEEP_WEB_PAGES})
    if(NOT EXISTS ${KVSWEEP_WEB_ASSETS}/${page})
      message(FATAL_ERROR "KVSWEEP_WEB_ASSETS=${KVSWEEP_WEB_ASSETS} has no ${page}")
    endif()
    add_custom_command(OUTPUT ${KVSWEEP_WEB_DIR}/${page} DEPENDS ${KVSWEEP_WEB_ASSETS}/${page} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E copy ${KVSWEEP_WEB_ASSETS}/${page} ${KVSWEEP_WEB_DIR}/${page})
    list(APPEND pages ${KVSWEEP_WEB_DIR}/${page})
  endforeach()
  add_custom_target(kvsweep_web ALL DEPENDS ${pages})
endfunction()

# A stamp each: packages are fetched when the lock file changes, pages made when a source does, tests copied when one does. Where
# packages cannot be fetched the build says so and goes on without pages; configuring again has it try again.
function(kvsweep_build_web_assets)
  set(packages ${KVSWEEP_WEB_TREE}/packages.stamp)
  set(pages ${KVSWEEP_WEB_TREE}/pages.stamp)
  if(EXISTS ${packages} AND NOT EXISTS ${KVSWEEP_WEB_TREE}/packages.ok)
    file(REMOVE ${packages})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/analysis/web/*.ts ${PROJECT_SOURCE_DIR}/analysis/web/*.css
       ${PROJECT_SOURCE_DIR}/analysis/web/*.html ${PROJECT_SOURCE_DIR}/analysis/web/*.json)
  list(FILTER sources EXCLUDE REGEX "/(node_modules|dist)/")
  set(build ${CMAKE_COMMAND} -DNPM=${KVSWEEP_NPM} -DSOURCE=${PROJECT_SOURCE_DIR} -DTREE=${KVSWEEP_WEB_TREE} -DOUT=${KVSWEEP_WEB_DIR})
  set(script ${PROJECT_SOURCE_DIR}/cmake/BuildWeb.cmake)
  add_custom_command(OUTPUT ${packages} COMMENT "Fetching the packages of the web pages (npm ci)" VERBATIM
                     COMMAND ${build} -DSTAGE=packages -DSTAMP=${packages} -P ${script}
                     DEPENDS ${PROJECT_SOURCE_DIR}/analysis/web/package-lock.json)
  add_custom_command(OUTPUT ${pages} COMMENT "Building the web pages" VERBATIM
                     COMMAND ${build} -DSTAGE=pages -DSTAMP=${pages} -P ${script}
                     DEPENDS ${packages} ${sources} ${script})
  set(tests ${KVSWEEP_WEB_TREE}/tests.stamp)
  file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/web/*.ts ${PROJECT_SOURCE_DIR}/tests/web/*.mjs)
  add_custom_command(OUTPUT ${tests} COMMENT "Copying the tests of the web pages" VERBATIM
                     COMMAND ${build} -DSTAGE=tests -DSTAMP=${tests} -P ${script} DEPENDS ${test_sources} ${script})
  add_custom_target(kvsweep_web ALL DEPENDS ${pages} ${tests})
endfunction()

if(KVSWEEP_WEB_ASSETS)
  kvsweep_take_web_assets()
  set(KVSWEEP_WEB_WHY "the pages are those of ${KVSWEEP_WEB_ASSETS}")
else()
  kvsweep_why_no_web(KVSWEEP_WEB_WHY)
  if(KVSWEEP_WEB_WHY)
    message(STATUS "No web pages: ${KVSWEEP_WEB_WHY}")
    add_custom_target(kvsweep_web)
  else()
    kvsweep_build_web_assets()
  endif()
endif()
install(DIRECTORY ${KVSWEEP_WEB_DIR}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kvsweep/web OPTIONAL FILES_MATCHING PATTERN "*.html")
