#include "kernels/expert_streams.hpp"

#include <algorithm>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// Of what is shared by all streams of a GPU.
struct Busy {
  Seconds memory, tensor;

  void add(const Kernel& kernel, int calls, const GpuSpec& gpu) {
    const KernelWork work = kernel_work(kernel);
    memory += work.dram_bytes / gpu.dram_bandwidth * calls;
    const FlopsPerSecond rate = gpu.tensor_rate(product_format(work.tensor_dtype, gpu));
    if (rate.value() > 0) tensor += Flops(work.tensor_flops) / rate * calls;
  }
};

}  // namespace

double time_beside(const KernelSequence& kernels, const std::function<Seconds(const Kernel&)>& time,
                   const GpuSpec& gpu) {
  Seconds shared, routed;
  Busy busy;
  for (const KernelCall& call : kernels) {
    if (call.experts == ExpertStream::none) continue;
    (call.experts == ExpertStream::shared ? shared : routed) += time(call.kernel) * call.calls;
    busy.add(call.kernel, call.calls, gpu);
  }
  if (shared == Seconds(0.0)) return 1;
  const Seconds together = std::max({shared, routed, busy.memory, busy.tensor});
  return std::min((together - routed) / shared, 1.0);
}

}  // namespace foretoken
