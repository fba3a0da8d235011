#include "kernels/roof.hpp"

#include <cmath>
#include <vector>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

[[noreturn]] void no_path(const Kernel& kernel, DType dtype, const GpuSpec& gpu) {
  std::vector<std::string_view> paths;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (gpu.tensor_ops_per_cycle_sm[i] > 0) paths.push_back(EnumNames<DType>::names[i]);
  }
  throw PredictionError(fmt::format(
      "{} in {}: {} has no matrix path for {}; use {}, or a GPU whose spec has a rate for it",
      kernel_name(kernel), enum_name(dtype), gpu.name, enum_name(dtype),
      paths.empty() ? "fp32" : fmt::format("{}", fmt::join(paths, ", "))));
}

/// The longest of the times it is shown, and whose it was; the first among equals.
class Highest {
 public:
  void raise(Bound bound, double amount, double rate) {
    const double time = amount > 0 ? amount / rate : 0.0;
    if (time > time_) {
      time_ = time;
      bound_ = bound;
    }
  }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] Bound bound() const { return bound_; }

 private:
  double time_ = 0;
  Bound bound_ = Bound::launch;
};

}  // namespace

Roof roof_of(const Kernel& kernel, const GpuSpec& gpu, bool is_cold, const RoofShares& shares) {
  KernelWork work = kernel_work(kernel);
  work.tensor_dtype = product_format(work.tensor_dtype, gpu);
  const double tensor_rate = gpu.tensor_rate(work.tensor_dtype).value();
  if (work.tensor_flops > 0 && !(tensor_rate > 0)) {
    if (work.tensor_dtype != DType::fp32) no_path(kernel, work.tensor_dtype, gpu);
    work.fma_ops += work.tensor_flops / 2;  // fp32 products run on the FMA pipes
    work.tensor_flops = 0;
  }
  const double fma_lanes = gpu.fma_rate().value() / 2;  // the rate counts 2 flops a lane
  const double xu_rate = gpu.xu_ops_per_cycle_sm * gpu.sm_count * gpu.clock.value();
  const bool is_from_dram = is_cold || work.dram_bytes.value() > gpu.l2_size.value();
  Highest roof;
  roof.raise(Bound::tensor, work.tensor_flops, tensor_rate * shares.tensor);
  roof.raise(Bound::fma, work.fma_ops, fma_lanes * shares.tensor);
  roof.raise(Bound::xu, work.xu_ops, xu_rate);
  if (is_from_dram) {
    roof.raise(Bound::dram, work.dram_bytes.value(), gpu.dram_bandwidth.value() * shares.dram);
  }
  roof.raise(Bound::l2, work.l2_bytes.value(), gpu.l2_bandwidth.value());
  if (!std::isfinite(roof.time())) {
    throw PredictionError(fmt::format("{}: the spec of {} has no {} rate, which this kernel needs",
                                      kernel_name(kernel), gpu.name, enum_name(roof.bound())));
  }
  return {Seconds(roof.time()), roof.bound()};
}

}  // namespace foretoken
