// "did you mean …?": what every message about an unknown name ends with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// The known name with the smallest edit distance to `name`, or "" if none is near
/// (at most a third of its length, and at least 2 edits allowed).
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

/// "unknown GPU 'h20o'; did you mean 'h200-sxm'? Known: a, b, c". `kind` is the noun, "GPU".
std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 const std::vector<std::string_view>& known);

}  // namespace foretoken
