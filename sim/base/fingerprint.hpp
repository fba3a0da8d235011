// A running 64-bit FNV-1a hash: keys of memo tables, seeds of named random streams and the
// fingerprint of an event trace. Not for security.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace foretoken {

class Fingerprint {
 public:
  constexpr Fingerprint& add(std::uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(word >> shift));
    return *this;
  }
  constexpr Fingerprint& add(double value) { return add(std::bit_cast<std::uint64_t>(value)); }
  constexpr Fingerprint& add(std::string_view text) {
    for (const char c : text) byte(static_cast<std::uint8_t>(c));
    return add(std::uint64_t{text.size()});
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return state_; }

 private:
  constexpr void byte(std::uint8_t value) { state_ = (state_ ^ value) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace foretoken
