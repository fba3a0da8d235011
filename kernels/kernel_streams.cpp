#include "kernels/kernel_streams.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// What prolongs the first lane, of the time that kernels of other lanes take alone.
double share_of_time(std::int64_t tokens) {
  constexpr double least = 0.4, a_doubling = 0.2, tokens_of_least = 64;
  const double doublings = std::log2(static_cast<double>(tokens) / tokens_of_least);
  return std::clamp(least + a_doubling * doublings, least, 1.0);
}

struct Fork {
  std::vector<Seconds> lanes;
  Seconds memory, tensor;  // what all streams of a GPU share, at peak

  void add(const KernelCall& call, Seconds time, const GpuSpec& gpu) {
    const auto lane = static_cast<std::size_t>(call.stream.lane);
    if (lanes.size() <= lane) lanes.resize(lane + 1);
    lanes[lane] += time * call.calls;
    const KernelWork work = kernel_work(call.kernel);
    memory += work.dram_bytes / gpu.dram_bandwidth * call.calls;
    const FlopsPerSecond rate = gpu.tensor_rate(product_format(work.tensor_dtype, gpu));
    if (rate.value() > 0) tensor += Flops(work.tensor_flops) / rate * call.calls;
  }

  [[nodiscard]] double share_aside(double least) const {
    if (lanes.empty()) return 1;
    Seconds aside;
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) aside += lanes[lane];
    if (aside == Seconds(0.0)) return 1;
    const Seconds together = std::max({std::ranges::max(lanes), memory, tensor});
    return std::clamp((together - lanes.front()) / aside, least, 1.0);
  }
};

}  // namespace

StreamShares::StreamShares(const KernelSequence& kernels, std::int64_t tokens,
                           const std::function<Seconds(const Kernel&)>& time, const GpuSpec& gpu) {
  std::vector<Fork> forks;
  for (const KernelCall& call : kernels) {
    const auto number = static_cast<std::size_t>(call.stream.fork);
    if (number == 0) continue;
    if (forks.size() <= number) forks.resize(number + 1);
    forks[number].add(call, time(call.kernel), gpu);
  }
  shares_.reserve(forks.size());
  const double least = share_of_time(tokens);
  for (const Fork& fork : forks) shares_.push_back(fork.share_aside(least));
}

}  // namespace foretoken
