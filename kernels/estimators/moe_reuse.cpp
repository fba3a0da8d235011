#include "kernels/estimators/moe_reuse.hpp"

#include <cmath>

#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

double kept_in_l2(double bytes_over_l2, double edge, double sharpness) {
  return 1 / (1 + std::pow(bytes_over_l2 / edge, sharpness));
}

double experts_read_again(const FusedMoe& kernel, const ExpertLoad& load) {
  if (kernel.routing.kind == Routing::Kind::balanced) return load.active;
  const double idle = 1 - load.active / load.held;
  return load.held * (1 - idle * idle);
}

double expert_ops_per_cycle_sm(const FusedMoe& kernel, const GpuSpec& gpu) {
  const DType format = product_format(kernel.dtype, gpu);
  const double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(format)];
  if (!(rate > 0)) {
    throw PredictionError(fmt::format("fused_moe in {}: {} has no matrix path for {}",
                                      enum_name(kernel.dtype), gpu.name, enum_name(kernel.dtype)));
  }
  return rate;
}

}  // namespace foretoken
