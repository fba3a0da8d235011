#include "sim/run/kernel_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "kernels/kernel_shape.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

void KernelSampler::on_stage_step(const StageStep& step) {
  if (step.pricer == nullptr) return;
  const std::int64_t number = steps_++;
  if (number % stride_ != 0) return;
  if (samples_.size() == steps_max) {
    stride_ *= 2;
    std::erase_if(samples_, [&](const Sample& kept) { return kept.number % stride_ != 0; });
    if (number % stride_ != 0) return;
  }
  samples_.push_back(sample(step));
}

KernelSampler::Sample KernelSampler::sample(const StageStep& step) {
  add_gpu(step.pricer->gpu());
  Sample taken{steps_ - 1, {}};
  for (const PricedKernel& kernel : step.pricer->kernels(step.shapes)) {
    if (std::holds_alternative<Collective>(kernel.call.kernel)) continue;
    const KernelWork work = kernel_work(kernel.call.kernel);
    const double flops = work.tensor_flops + 2 * work.fma_ops;
    if (!(flops > 0) || !(work.dram_bytes > Bytes(0.0))) continue;
    if (work.tensor_flops > 0 && std::ranges::find(dtypes_, work.tensor_dtype) == dtypes_.end()) {
      dtypes_.push_back(work.tensor_dtype);
    }
    const double seconds = kernel.price.time.value();
    taken.points.push_back({std::string(kernel.call.role),
                            std::string(kernel_name(kernel.call.kernel)),
                            std::string(enum_name(kernel.price.bound_by)),
                            kernel_shape(kernel.call.kernel), flops / work.dram_bytes.value(),
                            flops / seconds, seconds * 1e6, seconds * kernel.call.calls});
  }
  return taken;
}

void KernelSampler::add_gpu(const GpuSpec& gpu) {
  if (std::ranges::find(gpus_, gpu.title, &GpuSpec::title) == gpus_.end()) gpus_.push_back(gpu);
}

Roofline KernelSampler::roofline() const {
  Roofline roofline;
  roofline.steps = static_cast<std::int64_t>(samples_.size());
  for (const GpuSpec& gpu : gpus_) {
    Roofline::Gpu& roof = roofline.gpus.emplace_back();
    roof.title = gpu.title;
    roof.bytes_per_s = gpu.dram_bandwidth.value();
    for (const DType dtype : dtypes_) {
      const double peak = gpu.tensor_rate(dtype).value();
      if (peak > 0) roof.peaks.emplace_back(enum_name(dtype), peak);
    }
  }
  constexpr double cells_an_octave = 4;
  const auto cell = [](double value) {
    return static_cast<int>(std::floor(std::log2(value) * cells_an_octave));
  };
  std::map<std::tuple<std::string, std::string, std::string, int, int>, Roofline::Point> cells;
  double total = 0;
  for (const Sample& sample : samples_) {
    for (const Roofline::Point& point : sample.points) {
      total += point.share;
      const auto [known, is_new] =
          cells.try_emplace({point.role, point.family, point.bound, cell(point.flops_per_byte),
                             cell(point.flops_per_s)},
                            point);
      if (!is_new) known->second.share += point.share;
    }
  }
  for (auto& [key, point] : cells) {
    point.share /= total;
    roofline.points.push_back(std::move(point));
  }
  std::ranges::stable_sort(roofline.points, std::greater(), &Roofline::Point::share);
  return roofline;
}

}  // namespace foretoken
