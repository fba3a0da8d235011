// The entry of a fuzz target, FORETOKEN_FUZZ(trace)(const std::uint8_t* data, std::size_t size) {
// ... }: libFuzzer's own where it is built in, otherwise one of those that replay.cpp knows by
// name, all in one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#ifdef FORETOKEN_LIBFUZZER
#define FORETOKEN_FUZZ(name) extern "C" int LLVMFuzzerTestOneInput
#else
namespace foretoken {

using FuzzEntry = int (*)(const std::uint8_t* data, std::size_t size);

inline std::map<std::string_view, FuzzEntry>& fuzz_targets() {
  static std::map<std::string_view, FuzzEntry> targets;
  return targets;
}

}  // namespace foretoken

#define FORETOKEN_FUZZ(name)                                            \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size);   \
  [[maybe_unused]] static const bool knows_##name =                     \
      foretoken::fuzz_targets().try_emplace(#name, fuzz_##name).second; \
  static int fuzz_##name
#endif
