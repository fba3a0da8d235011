// The roofline: a kernel takes as long as its busiest resource, each working at its full rate, plus
// one launch. It knows nothing of tiles, waves, occupancy or latency, so it is an optimistic bound;
// the efficiencies stay at 1 unless a scenario asks for a rule of thumb ("80 % of peak").
#include <cmath>
#include <vector>

#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {
namespace {

struct RooflineConfig {
  double tensor_efficiency = 1.0;  // share of the tensor and FMA peak that kernels reach, (0, 1]
  double dram_efficiency = 1.0;    // share of the DRAM bandwidth that kernels reach, (0, 1]

  static RooflineConfig from_table(TableReader& options) {
    RooflineConfig config;
    const auto read_share = [&](std::string_view key, double& share) {
      options.read(key, share);
      options.expect(key, share > 0 && share <= 1, "must be above 0 and at most 1");
    };
    read_share("tensor_efficiency", config.tensor_efficiency);
    read_share("dram_efficiency", config.dram_efficiency);
    return config;
  }
};

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
class Roof {
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

class Roofline final : public Predictor {
 public:
  explicit Roofline(const RooflineConfig& config) : config_(config) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    KernelWork work = kernel_work(kernel);
    if (const auto* moe = std::get_if<FusedMoe>(&kernel)) {
      work.tensor_dtype = product_format(*moe, gpu);
    }
    const double tensor_rate = gpu.tensor_rate(work.tensor_dtype).value();
    if (work.tensor_flops > 0 && !(tensor_rate > 0)) {
      if (work.tensor_dtype != DType::fp32) no_path(kernel, work.tensor_dtype, gpu);
      work.fma_ops += work.tensor_flops / 2;  // fp32 products run on the FMA pipes
      work.tensor_flops = 0;
    }
    const double fma_lanes = gpu.fma_rate().value() / 2;  // the rate counts 2 flops a lane
    const double xu_rate = gpu.xu_ops_per_cycle_sm * gpu.sm_count * gpu.clock.value();
    Roof roof;
    roof.raise(Bound::tensor, work.tensor_flops, tensor_rate * config_.tensor_efficiency);
    roof.raise(Bound::fma, work.fma_ops, fma_lanes * config_.tensor_efficiency);
    roof.raise(Bound::xu, work.xu_ops, xu_rate);
    roof.raise(Bound::dram, work.dram_bytes.value(),
               gpu.dram_bandwidth.value() * config_.dram_efficiency);
    roof.raise(Bound::l2, work.l2_bytes.value(), gpu.l2_bandwidth.value());
    if (!std::isfinite(roof.time())) {
      throw PredictionError(
          fmt::format("{}: the spec of {} has no {} rate, which this kernel needs",
                      kernel_name(kernel), gpu.name, enum_name(roof.bound())));
    }
    const double launch = gpu.launch_latency.value();
    return {Seconds(roof.time() + launch), launch > roof.time() ? Bound::launch : roof.bound(),
            Origin::analytic};
  }

 private:
  RooflineConfig config_;
};

}  // namespace

std::unique_ptr<Predictor> make_roofline(TableReader& options) {
  return std::make_unique<Roofline>(RooflineConfig::from_table(options));
}

}  // namespace foretoken
