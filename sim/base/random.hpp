// Named random streams from one seed. A stream depends on the seed and its name alone, so that a
// new consumer shifts no other's numbers. The generator is std::mt19937_64, whose output the
// standard fixes; distributions come from Boost.Random (the standard's differ between libraries).
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

#include "sim/base/fingerprint.hpp"

namespace foretoken {

using RandomStream = std::mt19937_64;

class RandomStreams {
 public:
  explicit RandomStreams(std::uint64_t seed) : seed_(seed) {}

  /// The stream called `name`, at its beginning. The same name gives the same numbers.
  [[nodiscard]] RandomStream stream(std::string_view name) const {
    return RandomStream(Fingerprint().add(seed_).add(name).value());
  }

 private:
  std::uint64_t seed_;
};

/// Uniform in [0, 1) with 53 random bits.
inline double uniform(RandomStream& stream) {
  return static_cast<double>(stream() >> 11) * 0x1.0p-53;
}

}  // namespace foretoken
