// A file that was compiled into the program (room.cmake, foretoken_embed).
#pragma once

#include <span>
#include <string_view>

namespace foretoken {

struct EmbeddedFile {
  std::string_view stem;  // file name without its last ending: "h200-sxm"
  std::string_view text;
};

}  // namespace foretoken
