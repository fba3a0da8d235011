// Dates as traces write them: 2023-11-16 18:15:46.6805900, with or without T, fraction and offset
// from UTC (Z, +02:00, +0200 or +02). They are read as integers, because a double cannot hold
// today's date to 100 ns.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretoken {

/// Whether `text` begins like one, so that date_ns() says what is wrong with the rest.
bool is_date(std::string_view text);

/// Nanoseconds since 1970, UTC unless it says otherwise. Throws BadLine, which calls it `name`.
std::int64_t date_ns(std::string_view text, std::string_view name);

}  // namespace foretoken
