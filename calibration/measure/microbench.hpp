// The hardware's own numbers, as analytic models need them: launch floor, DRAM and L2 bandwidth by
// size and by active SMs, load latency, and the rates of the tensor, FMA and exponential pipes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "gpu.hpp"

namespace foretoken::measure {

/// Measures everything (about 20 s) and writes one JSON object. Throws std::runtime_error.
void write_microbench(const Gpu& gpu, Arena& arena,
                      const std::vector<std::pair<std::string, std::string>>& provenance,
                      const std::string& path);

}  // namespace foretoken::measure
