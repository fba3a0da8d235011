// What tells a row of a store that was damaged (a disk, a copy that broke off) from one as it was
// written: a changed digit in a report would otherwise become another table without a word.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {

inline std::string row_checksum(std::initializer_list<std::string_view> parts) {
  Fingerprint fingerprint;
  for (const std::string_view part : parts) fingerprint.add(part);
  return fmt::format("{:016x}", fingerprint.value());
}

/// Throws ConfigError for row `row` of the store `file`.
[[noreturn]] inline void refuse_damaged_row(const std::string& file, std::int64_t row) {
  throw ConfigError({file}, fmt::format("row {} is damaged: it is not as it was written. Take the "
                                        "file from a copy, or remove it to start over",
                                        row));
}

}  // namespace foretoken
