#include "kernels/roof.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware/compute_capability.hpp"
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

/// What a resource without a rate takes for its work.
enum class WithoutRate { forever, nothing };

/// The longest of the times it is shown, and whose it was; the first among equals.
class Highest {
 public:
  explicit Highest(WithoutRate without_rate) : without_rate_(without_rate) {}

  void raise(Bound bound, double amount, double rate) {
    if (!(rate > 0) && without_rate_ == WithoutRate::nothing) return;
    const double time = amount > 0 ? amount / rate : 0.0;
    if (time > time_) {
      time_ = time;
      bound_ = bound;
    }
  }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] Bound bound() const { return bound_; }

 private:
  WithoutRate without_rate_;
  double time_ = 0;
  Bound bound_ = Bound::launch;
};

KernelWork work_on(const Kernel& kernel, const GpuSpec& gpu) {
  KernelWork work = kernel_work(kernel);
  work.tensor_dtype = product_format(work.tensor_dtype, gpu);
  return work;
}

void multiply_on_fma_pipes(KernelWork& work) {
  work.fma_ops += work.tensor_flops / 2;
  work.tensor_flops = 0;
}

Highest busiest(const KernelWork& work, const GpuSpec& gpu, double from_dram,
                const RoofShares& shares, WithoutRate without_rate) {
  const double fma_lanes = gpu.fma_rate().value() / 2;  // the rate counts 2 flops a lane
  const double xu_rate = gpu.xu_ops_per_cycle_sm * gpu.sm_count * gpu.clock.value();
  Highest roof(without_rate);
  roof.raise(Bound::tensor, work.tensor_flops,
             gpu.tensor_rate(work.tensor_dtype).value() * shares.tensor);
  roof.raise(Bound::fma, work.fma_ops, fma_lanes * shares.tensor);
  roof.raise(Bound::xu, work.xu_ops, xu_rate);
  roof.raise(Bound::dram, from_dram, gpu.dram_bandwidth.value() * shares.dram);
  roof.raise(Bound::l2, work.l2_bytes.value(), gpu.l2_bandwidth.value());
  return roof;
}

/// Whether all bytes of a kernel come from DRAM for certain. An embedding reads rows that tokens
/// repeat, so that the L2 may hold as many of them as it has room for.
bool is_surely_cold(const Kernel& kernel) {
  return cold_state(kernel).value_or(!std::holds_alternative<Embedding>(kernel));
}

/// Of the tensor peak, what a kernel's own code reaches at most, where it is known to stay far
/// below: TensorRT-LLM's products in fp8_block as FlashInfer ships them for Blackwell take 826 and
/// 1,633 us for 1,024 and 2,048 rows of 24,576 x 7,168 on a B200, 0.79 us a row (448 TFLOP/s),
/// where DeepGEMM takes 146 and 260 (sgl-project/sglang#13528). With few rows they keep up with
/// DeepGEMM.
double attainable_share(const Kernel& kernel, const GpuSpec& gpu) {
  const auto* gemm = std::get_if<Gemm>(&kernel);
  const bool is_known = gemm != nullptr && gemm->dtype == DType::fp8_block &&
                        gemm->implementation.source == KernelSource::trtllm &&
                        is_datacentre_blackwell(gpu);
  return is_known ? 0.1 : 1;
}

}  // namespace

Roof roof_of(const Kernel& kernel, const GpuSpec& gpu, bool is_cold, const RoofShares& shares) {
  KernelWork work = work_on(kernel, gpu);
  if (work.tensor_flops > 0 && !(gpu.tensor_rate(work.tensor_dtype).value() > 0)) {
    if (work.tensor_dtype != DType::fp32) no_path(kernel, work.tensor_dtype, gpu);
    multiply_on_fma_pipes(work);
  }
  const bool is_from_dram = is_cold || work.dram_bytes.value() > gpu.l2_size.value();
  const double from_dram = is_from_dram ? work.dram_bytes.value() : 0.0;
  const Highest roof = busiest(work, gpu, from_dram, shares, WithoutRate::forever);
  if (!std::isfinite(roof.time())) {
    throw PredictionError(fmt::format("{}: the spec of {} has no {} rate, which this kernel needs",
                                      kernel_name(kernel), gpu.name, enum_name(roof.bound())));
  }
  return {Seconds(roof.time()), roof.bound()};
}

Roof least_time(const Kernel& kernel, const GpuSpec& gpu) {
  KernelWork work = work_on(kernel, gpu);
  if (!(gpu.tensor_rate(work.tensor_dtype).value() > 0)) {
    work.tensor_dtype = activation_dtype(work.tensor_dtype);
    if (!(gpu.tensor_rate(work.tensor_dtype).value() > 0)) multiply_on_fma_pipes(work);
  }
  const double in_l2 = is_surely_cold(kernel) ? 0.0 : gpu.l2_size.value();
  const double from_dram = std::max(work.dram_bytes.value() - in_l2, 0.0);
  const Highest least = busiest(work, gpu, from_dram, {.tensor = attainable_share(kernel, gpu)},
                                WithoutRate::nothing);
  return {Seconds(least.time()), least.bound()};
}

Prediction within_physics(Prediction prediction, const Kernel& kernel, const GpuSpec& gpu) {
  const Roof least = least_time(kernel, gpu);
  if (prediction.time < least.time) {
    prediction.time = least.time;
    prediction.bound_by = least.bound_by;
  }
  return prediction;
}

}  // namespace foretoken
