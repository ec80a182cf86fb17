# Run by the build (cmake -P): fetches the packages of analysis/web (STAGE=packages), makes its pages
# (STAGE=pages) or copies tests/web beside it (STAGE=tests), all in TREE.
set(web ${TREE}/analysis/web)

# mirror(FOLDER): TREE/FOLDER becomes what SOURCE/FOLDER is, packages and products apart.
function(mirror folder)
  file(GLOB old LIST_DIRECTORIES true RELATIVE ${TREE}/${folder} ${TREE}/${folder}/*)
  list(REMOVE_ITEM old node_modules)
  foreach(each ${old})
    file(REMOVE_RECURSE ${TREE}/${folder}/${each})
  endforeach()
  file(COPY ${SOURCE}/${folder}/ DESTINATION ${TREE}/${folder}
       PATTERN node_modules EXCLUDE PATTERN dist EXCLUDE)
endfunction()

function(fetch_packages)
  file(REMOVE ${TREE}/packages.ok)
  file(MAKE_DIRECTORY ${web})
  file(COPY ${SOURCE}/analysis/web/package.json ${SOURCE}/analysis/web/package-lock.json DESTINATION ${web})
  execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error
                  WORKING_DIRECTORY ${web} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    string(STRIP "${out}" out)
    message(WARNING "npm ci failed, so there will be no web pages; configure again to try again, or give those of another "
                    "machine's build with -DKVSWEEP_WEB_ASSETS=DIR.\n${out}")
  else()
    file(TOUCH ${TREE}/packages.ok)
  endif()
endfunction()

function(make_pages)
  if(NOT EXISTS ${TREE}/packages.ok)
    return()
  endif()
  mirror(analysis/web)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env KVSWEEP_WEB_OUT=${OUT} ${NPM} run --silent build
                  WORKING_DIRECTORY ${web} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    message(FATAL_ERROR "The web pages do not build:\n${out}")
  endif()
endfunction()

if(STAGE STREQUAL "packages")
  fetch_packages()
elseif(STAGE STREQUAL "tests")
  mirror(tests/web)
else()
  make_pages()
endif()
file(TOUCH ${STAMP})
