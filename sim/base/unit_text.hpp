// Quantities as people write them: "4.8 TB/s", "141 GiB", "500 ms", "4 /s". A number without its
// unit is refused, and GB is 10^9 bytes while GiB is 2^30.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/quantity.hpp"

namespace foretoken {

/// Parses `text` into `out`. Returns nullopt on success, else what is wrong and which units exist,
/// e.g. "'500' has no unit; write for example \"500 ms\" (s, ms, us, ns, min, h)".
template <class Quantity>
std::optional<std::string> parse_quantity(std::string_view text, Quantity& out);

/// The value in its base unit with the shortest digits that parse back to the same bits: "0.5 s".
template <class Quantity>
std::string exact_text(Quantity value);

/// An example of the quantity for messages: "500 ms".
template <class Quantity>
std::string_view quantity_example();

/// For people: three significant digits in the unit that reads best, "1.23 ms", "141 GiB".
std::string readable(Seconds value);
std::string readable(Bytes value);

}  // namespace foretoken
