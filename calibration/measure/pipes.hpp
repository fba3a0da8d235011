// Rates of an SM's arithmetic pipes, measured with kernels that do nothing else.
#pragma once

#include <string>
#include <vector>

#include "gpu.hpp"

namespace foretoken::measure {

struct PipeRate {
  std::string pipe;  // "wgmma_bf16" (128 columns), "wgmma_bf16_n16", "mma_sync_bf16", "ex2" …
  double ops_per_clock_per_sm = 0;  // an FMA counts as two, an ex2 as one
  double tera_ops_per_second = 0;   // all SMs, at the clock that the card then ran at
  double sm_clock_mhz = 0;
};

/// The pipes this GPU and this build have. Operands are random, each run lasts some milliseconds.
std::vector<PipeRate> measure_pipes(const Gpu& gpu);

}  // namespace foretoken::measure
