# Packages for those without a compiler. `cpack -G DEB --config build/release/CPackConfig.cmake` makes of what
# `cmake --install` installs one Debian package, for the release that it was built on: that one's name is in the
# version, and dpkg-shlibdeps finds what it needs. The rules name no release. A wheel is pyproject.toml's.
file(STRINGS /etc/os-release os_release)
foreach(line IN LISTS os_release)
  if(line MATCHES "^(ID|VERSION_ID)=\"?([^\"]*)\"?$")
    set(os_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endif()
endforeach()

set(CPACK_PACKAGE_NAME foretoken)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Foretoken's authors <foretoken@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Predict how a large language model will serve")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "TTFT, TPOT, throughput and cost of LLM serving on GPUs that nobody has rented yet:
 a discrete-event simulator with its library and Python module.")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${os_ID}${os_VERSION_ID})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
# What a program that uses the library needs to compile.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libboost-dev, libfmt-dev, libtomlplusplus-dev, libyaml-cpp-dev, nlohmann-json3-dev, robin-map-dev, libeigen3-dev, libsqlite3-dev, zlib1g-dev")
if(TARGET foretoken_python)
  find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)  # sim/python's own is not seen here
  math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
      "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next_minor})")
endif()

# Which packages what is linked needs. CPACK_DEBIAN_PACKAGE_SHLIBDEPS would ask file(1) about each of 500 headers first:
# half a minute.
set(linked "")
foreach(target foretoken foretoken-mpi foretoken_python foretoken_simgrid)
  if(TARGET ${target})
    string(APPEND linked " \"$<TARGET_FILE:${target}>\"")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/shlibdeps/debian/control "Source: foretoken\n")  # asked for, not looked at
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/shlibdeps/depends.cmake CONTENT
"if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
foreach(file${linked})
  if(NOT EXISTS \"\${file}\")
    return()  # which the installation says
  endif()
endforeach()
execute_process(COMMAND dpkg-shlibdeps --ignore-missing-info -O${linked}
                WORKING_DIRECTORY \"${CMAKE_BINARY_DIR}/shlibdeps\"
                OUTPUT_VARIABLE found ERROR_VARIABLE mistake RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR \"dpkg-shlibdeps (Debian: dpkg-dev): \${status} \${mistake}\")
endif()
string(REGEX REPLACE \"^shlibs:Depends=|\\n$\" \"\" found \"\${found}\")
if(CPACK_DEBIAN_PACKAGE_DEPENDS)
  string(PREPEND found \"\${CPACK_DEBIAN_PACKAGE_DEPENDS}, \")
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS \"\${found}\")
")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/shlibdeps/depends.cmake)
include(CPack)
