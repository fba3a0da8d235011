# Functions every room's CMakeLists.txt uses, so that a room is declared in one line and a folder of
# variants or specs needs no list that could fall out of step with it.

# Two thirds of a file's compile time go to headers, which its neighbours include too. The 41
# files of sim/serving take 110 s of CPU one by one and 15 s at once.
option(FORETOKEN_UNITY "Compile the files of a folder together, up to forty at once" ON)
# Warnings about names of a neighbour, and GCC 12's false alarms in long files. The preset "dev", which
# compiles file by file, has them all.
set(FORETOKEN_UNITY_OPTIONS -Wno-shadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND FORETOKEN_UNITY_OPTIONS -Wno-subobject-linkage -Wno-maybe-uninitialized -Wno-restrict)
endif()

# foretoken_unity(OUT_VARIABLE NAME SOURCES [JOIN] [APART file|folder ...])
#   What to compile in place of SOURCES: files of one folder together, in generated files of at most
#   forty, but those whose path ends in one of APART (a name in an anonymous namespace that a
#   neighbour has, too) alone. JOIN: small folders share a file, but those that APART names, whose
#   files are compiled five at once, for those who change one of them again and again. CMake's own
#   UNITY_BUILD includes files by absolute paths, which ccache finds in no other checkout.
function(foretoken_unity out name sources)
  cmake_parse_arguments(UNITY "JOIN" "" "APART" ${ARGN})
  set(units "")
  set(folders "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE path)
    set(together ${FORETOKEN_UNITY})
    foreach(apart IN LISTS UNITY_APART)
      if(path MATCHES "/${apart}$")
        set(together OFF)
      endif()
    endforeach()
    if(together)
      get_filename_component(folder ${path} DIRECTORY)
      string(REPLACE "/" "_" folder ${folder})
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${path})
    else()
      list(APPEND units ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(TRANSFORM UNITY_APART REPLACE "(.+)" "_\\1$" OUTPUT_VARIABLE ends)
  string(JOIN "|" ends ${ends} "^$")
  set(joined "")
  foreach(folder IN LISTS folders)
    list(LENGTH in_${folder} count)
    list(LENGTH in_${joined} count_joined)
    math(EXPR count "${count} + ${count_joined}")
    if(NOT UNITY_JOIN OR folder MATCHES "${ends}")
      continue()
    elseif(joined AND count LESS_EQUAL 40)
      list(APPEND in_${joined} ${in_${folder}})
      list(REMOVE_ITEM folders ${folder})
    else()
      set(joined ${folder})
    endif()
  endforeach()
  foreach(folder IN LISTS folders)
    list(LENGTH in_${folder} count)
    set(most 40)
    if(folder MATCHES "${ends}")
      set(most 5)
    endif()
    math(EXPR parts "(${count} + ${most} - 1) / ${most}")
    math(EXPR each "(${count} + ${parts} - 1) / ${parts}")
    set(part 0)
    while(in_${folder})
      list(SUBLIST in_${folder} 0 ${each} paths)
      list(REMOVE_ITEM in_${folder} ${paths})
      math(EXPR part "${part} + 1")
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/unity/${name}/${folder}_${part}.cpp)
      list(TRANSFORM paths REPLACE "(.+)" "#include \"\\1\"\n")
      string(JOIN "" text ${paths})
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
      set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS "${FORETOKEN_UNITY_OPTIONS}")
      list(APPEND units ${unit})
    endwhile()
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# foretoken_cold(TARGET)
#   What runs once a command (reading, writing) is optimised little: -Og takes a third less of its
#   compile time than -O2. No result changes: contraction is off, and nothing allows sums in another order.
function(foretoken_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

# foretoken_room(NAME [COLD|WARM|HOT] [LINKS target ...] [APART file|folder ...])
#   Library foretoken_<NAME> from every .cpp in the current folder and its sub-folders, linked to LINKS.
#   A sub-folder with a CMakeLists.txt is a room of its own. WARM: what runs once a
#   request or a plan's choice has -O1. HOT: its loops want -O3's vectors.
function(foretoken_room name)
  cmake_parse_arguments(ROOM "COLD;WARM;HOT" "" "LINKS;PRIVATE_LINKS;EXTRA;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB rooms_within CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(list IN LISTS rooms_within)
    get_filename_component(folder ${list} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  foretoken_unity(sources ${name} "${sources}" JOIN APART ${ROOM_APART})
  add_library(foretoken_${name} STATIC ${sources} ${ROOM_EXTRA})
  target_include_directories(foretoken_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/foretoken>)
  target_compile_features(foretoken_${name} PUBLIC cxx_std_20)  # of those who link it, too
  target_link_libraries(foretoken_${name} PUBLIC ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS})
  if(ROOM_COLD)
    foretoken_cold(foretoken_${name})
  elseif(ROOM_WARM)
    target_compile_options(foretoken_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(ROOM_HOT)
    target_compile_options(foretoken_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
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
#   The same for a list of files by their paths. The assembler takes their bytes as they are.
function(foretoken_embed_files out function files)
  set(bytes "")
  set(labels "")
  set(entries "")
  set(number 0)
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WLE)
    get_filename_component(path ${file} ABSOLUTE)
    set(label ${function}_${number})
    string(APPEND bytes "    \"${label}: .incbin \\\"${path}\\\"\\n${label}_end: .byte 0\\n\"\n")
    string(APPEND labels "extern \"C\" const char ${label}[], ${label}_end[];\n")
    string(APPEND entries "      {\"${stem}\", {${label}, ${label}_end}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT "#include <array>

#include \"sim/base/embedded.hpp\"

__asm__(
    \".section .rodata\\n\"
${bytes}    \".previous\\n\");
${labels}
namespace foretoken {
std::span<const EmbeddedFile> ${function}() {
  static const std::array<EmbeddedFile, ${number}> files = {{
${entries}  }};
  return files;
}
}  // namespace foretoken
")
  set_source_files_properties(${generated} PROPERTIES OBJECT_DEPENDS "${files}")
  set(${out} ${generated} PARENT_SCOPE)
endfunction()
