// Reads the command line by hand: the program shall build where only the CUDA toolkit is.
#include "options.hpp"

#include <stdexcept>

#include "arguments.hpp"

namespace foretoken::measure {

const char* const usage = R"(usage: foretoken-measure FAMILY... [options]
  FAMILY         a kernel family, "all", "small" (all but GEMM) or "microbench"
  --out DIR      where FAMILY.csv and microbench.json go (default .)
  --seconds S    stop each family after S seconds (default: measure all its shapes)
  --few N        only the N most informative shapes, for adapting to a new GPU
  --cases        write the shapes of each family to FAMILY.csv and measure nothing
  --only DIR     only the shapes in DIR/FAMILY.csv, as foretoken-calibrate choose writes them
  --shapes FILE  GEMM: lines m,n,k to measure instead of the built-in layers
  --gemm-api A   bf16 GEMM through "lt" (default: it reports the split of k) or "gemmex", which is
                 what PyTorch calls; both choose the same kernels
  --limit N      stop each family after N shapes
  --memory GB    of random inputs (default 24, at most 40 % of free memory)
  --settle MS    run long kernels this long before timing them sustained (default 40, 0: none)
  --repeat N     measure the first N shapes again at the end (default 100): the noise floor
  --seed N       order of the shapes, and the random ones (default 1)
  --device N     CUDA device (default 0)
  --once         launch each shape once and do not time it, for a profiler such as ncu
  --list         print the families and how many shapes each has
)";

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw std::runtime_error(word + " needs a value");
      return argv[++i];
    };
    const auto number = [&] { return number_of<double>(word, value()); };
    const auto whole = [&]<typename Value>(Value) { return number_of<Value>(word, value()); };
    if (word == "--out")
      options.out = value();
    else if (word == "--seconds")
      options.seconds = number();
    else if (word == "--few")
      options.few = whole(options.few);
    else if (word == "--limit")
      options.limit = whole(options.limit);
    else if (word == "--memory")
      options.memory_gb = number();
    else if (word == "--settle")
      options.settle_ms = number();
    else if (word == "--shapes")
      options.family.shapes_file = value();
    else if (word == "--gemm-api")
      options.family.gemm_api = value();
    else if (word == "--repeat")
      options.repeat = whole(options.repeat);
    else if (word == "--seed")
      options.family.seed = whole(options.family.seed);
    else if (word == "--device")
      options.device = whole(options.device);
    else if (word == "--once")
      options.once = true;
    else if (word == "--cases")
      options.cases = true;
    else if (word == "--only")
      options.only = value();
    else if (word == "--list")
      options.list = true;
    else if (word.starts_with("-"))
      throw std::runtime_error("unknown option " + word);
    else
      options.families.push_back(word);
  }
  if (options.families.empty()) options.families = {options.list ? "all" : ""};
  if (options.family.gemm_api != "gemmex" && options.family.gemm_api != "lt")
    throw std::runtime_error("--gemm-api is gemmex or lt, not " + options.family.gemm_api);
  return options;
}

std::vector<std::string> chosen_families(const std::vector<std::string>& words) {
  std::vector<std::string> chosen;
  for (const std::string& word : words) {
    bool known = word == "microbench";
    if (known) chosen.push_back(word);
    for (const FamilyEntry& entry : families()) {
      const std::string name(entry.name);
      const bool small = !name.starts_with("gemm");
      if (word != name && word != "all" && !(word == "small" && small)) continue;
      known = true;
      chosen.push_back(name);
    }
    if (word == "all") chosen.push_back("microbench");
    if (known) continue;
    std::string names = "all, small, microbench";
    for (const FamilyEntry& entry : families()) names += ", " + std::string(entry.name);
    throw std::runtime_error("no family \"" + word + "\"; there are " + names);
  }
  return chosen;
}

}  // namespace foretoken::measure
