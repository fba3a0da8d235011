// Hashes of integers for tables of a power of two of places, which look at the lowest bits alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace foretoken {

/// `bits` with each of them spread over all (Fibonacci hashing). One to one.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits *= 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
  return bits ^ bits >> 32;
}

/// For keys that count up in steps: the requests of one replica among 128 may differ by 128.
struct MixedHash {
  std::size_t operator()(std::uint64_t key) const { return mixed(key); }
};

}  // namespace foretoken
