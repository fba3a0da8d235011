# Two functions every room's CMakeLists.txt uses, so that a room is declared in one line and a
# folder of variants or specs needs no list that could fall out of step with it.

# foretoken_room(NAME [LINKS target ...])
#   Library foretoken_<NAME> from every .cpp in the current folder and its sub-folders, linked to LINKS.
function(foretoken_room name)
  cmake_parse_arguments(ROOM "" "" "LINKS;PRIVATE_LINKS;EXTRA" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(foretoken_${name} STATIC ${sources} ${ROOM_EXTRA})
  target_include_directories(foretoken_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/foretoken>)
  target_compile_features(foretoken_${name} PUBLIC cxx_std_20)  # of those who link it, too
  target_link_libraries(foretoken_${name} PUBLIC ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS})
  set_target_properties(foretoken_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY FORETOKEN_ROOMS foretoken_${name})
endfunction()

# foretoken_embed(OUT_VARIABLE FUNCTION FOLDER PATTERN)
#   Generates a .cpp that defines `std::span<const EmbeddedFile> foretoken::FUNCTION()` holding every
#   file of FOLDER that matches PATTERN, and stores its path in OUT_VARIABLE. Specs and learned
#   artifacts travel inside the program this way: an installed foretoken needs no folder beside it.
function(foretoken_embed out function folder pattern)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${pattern})
  foretoken_embed_files(generated ${function} "${files}")
  set(${out} ${generated} PARENT_SCOPE)
endfunction()

# foretoken_embed_files(OUT_VARIABLE FUNCTION FILES)
#   The same for a list of files by their paths.
function(foretoken_embed_files out function files)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} -DFUNCTION=${function} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/sim/base/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/sim/base/embed.cmake
    VERBATIM)
  set(${out} ${generated} PARENT_SCOPE)
endfunction()
