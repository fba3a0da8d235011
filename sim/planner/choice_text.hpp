// Words about choices that several outputs share.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/layout_choices.hpp"

namespace foretoken {

/// "h100-sxm, TP 4, PP 2": hardware speaks for itself, other values need their label.
std::string choice_text(const std::vector<LayoutChoice>& axes,
                        const std::vector<std::string>& values);

/// `text` (which may hold Ink's escapes) broken at spaces into lines of at most `width` columns,
/// the first indented by `first` spaces, the others by `rest`; each ends with '\n'.
std::string wrapped(const std::string& text, int width, int first, int rest);

}  // namespace foretoken
