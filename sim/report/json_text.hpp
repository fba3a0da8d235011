// Strings as JSON writes them, for files that are written piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

/// Appends `value` (UTF-8) in quotes. "<" is escaped too, so that the text may stand inside a
/// <script> of an HTML page.
void append_json_text(std::string& text, std::string_view value);

}  // namespace foretoken
