// Charts of one line of text, drawn with Unicode's block elements.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

/// A bar of `share` (0 to 1) of `columns`, to an eighth of a column. Anything above zero shows at
/// least the thinnest bar.
std::string bar(double share, int columns);

/// `values` (none negative) stretched or gathered to exactly `columns` (or nothing, of no values).
/// A column shows the largest value of its stretch, so that a short spike is not averaged away; the
/// tallest block is the largest value of all, and the lowest means exactly zero.
std::string sparkline(const std::vector<double>& values, int columns);

}  // namespace foretoken
