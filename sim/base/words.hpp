// Names as people write them, cut into words: what "did you mean" and aliases compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// Runs of letters, digits and dots, in lower case: "A100-SXM4-80GB" is a100, sxm4, 80gb.
std::vector<std::string> words_of(std::string_view text);

}  // namespace foretoken
