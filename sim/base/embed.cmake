# Script mode: writes OUTPUT, a C++ file whose FUNCTION() returns the contents of FILES.
# Bytes are written as escapes, so that quotes, backslashes and binary files need no care.
set(text "#include <array>\n#include \"sim/base/embedded.hpp\"\n\nnamespace foretoken {\n")
string(APPEND text "std::span<const EmbeddedFile> ${FUNCTION}() {\n")
if(NOT FILES)  # to_array takes no empty list
  file(WRITE ${OUTPUT} "${text}  return {};\n}\n}  // namespace foretoken\n")
  return()
endif()
string(APPEND text "  static constexpr auto files = std::to_array<EmbeddedFile>({\n")
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WLE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
  # A literal ends at each line break of the file, so that the generated lines stay short.
  string(REPLACE "\\x0a" "\\n\"\n      \"" bytes "${bytes}")
  string(APPEND text "      {\"${stem}\", std::string_view(\"${bytes}\", sizeof(\"${bytes}\") - 1)},\n")
endforeach()
string(APPEND text "  });\n  return files;\n}\n}  // namespace foretoken\n")
file(WRITE ${OUTPUT} "${text}")
