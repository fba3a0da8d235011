// A text as a cell of a CSV file that people open in spreadsheets.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

/// `text`, quoted where RFC 4180 asks for it. A text that a spreadsheet would take for a formula
/// (it begins with =, @, + or -, and is no number) has an apostrophe in front, which shows it as
/// text.
std::string csv_cell(std::string_view text);

}  // namespace foretoken
