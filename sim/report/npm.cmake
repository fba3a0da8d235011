# foretoken_npm(OUT_VARIABLE FOLDER)
#   Installs what FOLDER/package-lock.json names, with npm, into the build tree (nothing is left in the
#   source tree) and stores the path of node_modules in OUT_VARIABLE; empty if that cannot be done, with a
#   warning that says what to do. Runs npm again only when the lock file changes.
function(foretoken_npm out folder)
  set(${out} "" PARENT_SCOPE)
  get_filename_component(source ${folder} ABSOLUTE)
  set(place ${CMAKE_CURRENT_BINARY_DIR}/npm)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}/package-lock.json)
  file(SHA256 ${source}/package-lock.json wanted)
  set(installed "")
  if(EXISTS ${place}/installed)
    file(READ ${place}/installed installed)
  endif()
  if(NOT installed STREQUAL wanted)
    find_program(NPM npm)
    if(NOT NPM)
      message(WARNING "npm is missing, so what ${source}/package.json names is left out. Install "
                      "it (apt-get install npm) and configure again.")
      return()
    endif()
    file(REMOVE_RECURSE ${place})
    file(MAKE_DIRECTORY ${place})
    file(COPY ${source}/package.json ${source}/package-lock.json DESTINATION ${place})
    message(STATUS "Installing what ${source}/package-lock.json names")
    execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
                            --fetch-retries=1 --fetch-timeout=30000
                    WORKING_DIRECTORY ${place} RESULT_VARIABLE status OUTPUT_VARIABLE log
                    ERROR_VARIABLE log)
    if(NOT status EQUAL 0)
      message(WARNING "npm ci failed for ${source}, so it is left out. Is the registry in reach? "
                      "Configure again once it is.\n${log}")
      return()
    endif()
    file(WRITE ${place}/installed ${wanted})
  endif()
  set(${out} ${place}/node_modules PARENT_SCOPE)
endfunction()
