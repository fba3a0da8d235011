// foretoken-measure: times kernels on the GPU of this machine and writes Foretoken's datasets.
// README.md beside this file says how to profile a new GPU with it in ten minutes.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "family_run.hpp"
#include "microbench.hpp"
#include "options.hpp"
#include "provenance.hpp"

namespace foretoken::measure {
namespace {

void run(const Options& options, const std::vector<std::string>& names) {
  const Gpu gpu = open_gpu(options.device);
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
  using namespace foretoken::measure;
  const auto fail = [](int status, const std::exception& error) {
    std::fprintf(stderr, "foretoken-measure: %s\n", error.what());
    return status;
  };
  // As the other programs: 1 ran but something failed, 2 the user's mistake, 3 our bug.
  Options options;
  std::vector<std::string> names;
  try {
    options = parse(argc, argv);
    if (options.families[0].empty()) {
      std::fputs(usage, stderr);
      return 2;
    }
    names = chosen_families(options.families);
  } catch (const std::exception& error) {
    return fail(2, error);
  }
  try {
    run(options, names);
  } catch (const std::logic_error& error) {
    return fail(3, error);
  } catch (const std::exception& error) {
    return fail(1, error);
  }
  if (std::fflush(stdout) == 0) return 0;
  return fail(1, std::runtime_error("standard output was not written completely"));
}
