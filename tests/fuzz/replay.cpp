// Stands in for libFuzzer in ordinary builds: replay TARGET FILE|FOLDER... runs the fuzz target on
// every file that is named, or stands in a folder that is named. Whatever the fuzzer once found
// stays found.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace {

void replay(foretoken::FuzzEntry target, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::printf("%s (%zu bytes)\n", path.c_str(), bytes.size());
  std::fflush(stdout);  // the last line names the file that brought it down
  target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const auto& targets = foretoken::fuzz_targets();
  const auto target = targets.find(argc > 1 ? argv[1] : "");
  if (target == targets.end()) {
    std::puts("replay TARGET FILE|FOLDER...; targets:");
    for (const auto& [name, entry] : targets) std::printf("  %s\n", name.data());
    return 1;
  }
  int replayed = 0;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      replay(target->second, argv[i]);
      ++replayed;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      replay(target->second, entry.path());
      ++replayed;
    }
  }
  if (replayed == 0) std::puts("nothing to replay: name files or folders");
  return replayed == 0 ? 1 : 0;
}
