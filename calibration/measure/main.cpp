// foretoken-measure: times kernels on the GPU of this machine and writes Foretoken's datasets.
// README.md beside this file says how to profile a new GPU with it in ten minutes.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "family_run.hpp"
#include "microbench.hpp"
#include "options.hpp"
#include "provenance.hpp"

namespace foretoken::measure {
namespace {

void run(const Options& options) {
  const Gpu gpu = open_gpu(options.device);
  const std::vector<std::string> names = chosen_families(options.families);
  if (options.list) {
    for (const FamilyEntry& entry : families())
      std::printf("%-20s %6zu\n", std::string(entry.name).c_str(),
                  entry.make(gpu, options.family).cases.size());
    return;
  }
  if (options.cases) {
    for (const FamilyEntry& entry : families())
      if (std::find(names.begin(), names.end(), entry.name) != names.end())
        write_cases(gpu, entry.make(gpu, options.family), options.out);
    return;
  }
  Arena arena(gpu, options.memory_gb);
  Stopwatch stopwatch(gpu, arena, options.settle_ms);
  for (const std::string& name : names) {
    if (name == "microbench") {
      arena.fill(Fill::bf16);
      write_microbench(gpu, arena, provenance_of(gpu), options.out + "/microbench.json");
      std::printf("microbench written\n");
      continue;
    }
    for (const FamilyEntry& entry : families())
      if (entry.name == name)
        measure_family(gpu, arena, stopwatch, entry.make(gpu, options.family), options);
  }
}

}  // namespace
}  // namespace foretoken::measure

int main(int argc, char** argv) {
  try {
    const auto options = foretoken::measure::parse(argc, argv);
    if (options.families[0].empty()) {
      std::fputs(foretoken::measure::usage, stderr);
      return 2;
    }
    foretoken::measure::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foretoken-measure: %s\n", error.what());
    return 2;
  }
  return 0;
}
