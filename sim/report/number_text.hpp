// Numbers as a person reads them in the terminal: thousands separated, three significant digits,
// the unit that reads best. Machine-readable outputs use rounding.hpp instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

/// "1,234,567".
std::string grouped(std::int64_t value);
/// "1,234.50" with `decimals` 2; beyond 10^9 "1.23e+12", which no column would hold otherwise.
std::string grouped(double value, int decimals);
/// Three significant digits, whole from 100 up: "0.0123", "1.23", "12.3", "1,234", "0".
std::string brief(double value);
/// A share of 0 to 1 as "34.2 %"; a trace of something is "<0.1 %", never "0.0 %".
std::string percent(double share);
/// Per cent of a share that was to be reached, rounded down to hundredths, without the sign: 98.97
/// must not read as 99, nor all but a few as 100.
std::string attained(double share);
/// "812 ms", "17.3 s", "4 min 05 s", "3 h 25 min".
std::string duration(double seconds);
/// A stable name as words: "kv_cache" is "KV cache".
std::string spelled(std::string_view name);
/// "1 request", "400 requests"; `noun` gets an s.
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace foretoken
