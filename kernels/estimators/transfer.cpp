#include "kernels/estimators/transfer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_work.hpp"
#include "kernels/tasks/hardware_ratio.hpp"

namespace foretoken {
namespace {

/// First-order times are asked for half of the known part's SMs, for as many and for twice as many.
constexpr double sms_most = 2;

/// The share of the known part's SMs, as far as first-order times are asked for it.
double asked_share(const GpuSpec& known, const GpuSpec& gpu) {
  const double share = static_cast<double>(gpu.sm_count) / known.sm_count;
  return std::clamp(share, 1 / sms_most, sms_most);
}

/// First-order times do not feel exponentials but in attention.
bool feels_exponentials(const Kernel& kernel) { return std::holds_alternative<Attention>(kernel); }

/// Rates of tensor cores relative to each other stay the known part's: first-order times have
/// energies that grow with the 16-bit rate where another format is multiplied.
void set_tensor_rates(const Kernel& kernel, const GpuSpec& gpu, GpuSpec& known) {
  if (std::holds_alternative<Attention>(kernel) || std::holds_alternative<Mla>(kernel)) {
    known.tensor_ops_per_cycle_sm = gpu.tensor_ops_per_cycle_sm;
    return;
  }
  const auto format =
      static_cast<std::size_t>(product_format(kernel_work(kernel).tensor_dtype, gpu));
  const double before = known.tensor_ops_per_cycle_sm[format];
  if (!(before > 0)) return;
  const double factor = gpu.tensor_ops_per_cycle_sm[format] / before;
  for (double& rate : known.tensor_ops_per_cycle_sm) rate *= factor;
}

/// The known part at the rates of `gpu`.
GpuSpec at_rates_of(const Kernel& kernel, const GpuSpec& gpu, GpuSpec known) {
  set_tensor_rates(kernel, gpu, known);
  known.clock = gpu.clock;
  if (feels_exponentials(kernel)) known.xu_ops_per_cycle_sm = gpu.xu_ops_per_cycle_sm;
  known.dram_bandwidth = gpu.dram_bandwidth;
  known.dram_stream_share = gpu.dram_stream_share;
  known.l2_bandwidth = gpu.l2_bandwidth;
  known.power = gpu.power;
  return known;
}

/// The known part with all that at_rates_of() leaves out.
GpuSpec with_room_of(const Kernel& kernel, const GpuSpec& gpu, GpuSpec known) {
  const double beyond = gpu.sm_count / (known.sm_count * asked_share(known, gpu));
  known.sm_count = std::max(1, static_cast<int>(std::lround(known.sm_count * beyond)));
  known.fma_ops_per_cycle_sm = gpu.fma_ops_per_cycle_sm;
  if (!feels_exponentials(kernel)) known.xu_ops_per_cycle_sm = gpu.xu_ops_per_cycle_sm;
  known.l2_size = gpu.l2_size;
  known.shared_bytes_per_cycle_sm = gpu.shared_bytes_per_cycle_sm;
  known.shared_size_sm = gpu.shared_size_sm;
  known.registers_sm = gpu.registers_sm;
  known.threads_sm = gpu.threads_sm;
  known.ctas_sm = gpu.ctas_sm;
  known.launch_latency = gpu.launch_latency;
  return known;
}

/// First-order times of a kernel over the number of SMs: the lowest so far, and a line through the
/// logarithms between the numbers that are asked for.
class LowestSoFar {
 public:
  LowestSoFar(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu,
              const GpuSpec& known)
      : family_(family), kernel_(kernel), gpu_(gpu), known_(known), sms_(known.sm_count) {}

  /// `share` of the known part's SMs, 1 / sms_most to sms_most.
  [[nodiscard]] double log_time(double share) {
    const double half = log_time_at(1 / sms_most);
    const double as_many = std::min(half, log_time_at(1));
    const double place = std::log2(share);
    if (place <= 0) return as_many + (half - as_many) * -place;
    const double twice = std::min(as_many, log_time_at(sms_most));
    return as_many + (twice - as_many) * place;
  }

 private:
  [[nodiscard]] double log_time_at(double share) {
    gpu_.sm_count = known_.sm_count = std::max(1, static_cast<int>(std::lround(sms_ * share)));
    return std::log(family_.comparable_time(kernel_, gpu_, known_).value());
  }

  const EstimatorFamily& family_;
  const Kernel& kernel_;
  GpuSpec gpu_, known_;
  double sms_;
};

bool runs_alike(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& a,
                const GpuSpec& b) {
  const DType format = kernel_work(kernel).tensor_dtype;
  return family_of(kernel, a) == &family && product_format(format, a) == product_format(format, b);
}

}  // namespace

double transfer_ratio(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& known,
                      const GpuSpec& gpu) {
  const double room = hardware_ratio(kernel, known, with_room_of(kernel, gpu, known));
  LowestSoFar there(family, kernel, at_rates_of(kernel, gpu, known), known);
  LowestSoFar here(family, kernel, known, known);
  return room * std::exp(there.log_time(asked_share(known, gpu)) - here.log_time(1));
}

std::optional<Prediction> transferred(const EstimatorFamily& family, const Kernel& kernel,
                                      const std::vector<const GpuSpec*>& kin, const GpuSpec& gpu,
                                      const std::function<Prediction(const GpuSpec&)>& price) {
  std::optional<Prediction> result;
  double product = 1;  // of seconds
  int count = 0;
  bool is_copy = true;
  for (const GpuSpec* part : kin) {
    if (!runs_alike(family, kernel, *part, gpu)) continue;
    const Prediction known = price(*part);
    const double ratio = transfer_ratio(family, kernel, *part, gpu);
    is_copy = is_copy && ratio == 1;
    product *= known.time.value() * ratio;
    ++count;
    if (!result) result = known;
  }
  if (!result) return std::nullopt;
  result->time = Seconds(std::pow(product, 1.0 / count));
  if (!is_copy && result->origin != Origin::analytic) result->origin = Origin::transferred;
  return result;
}

}  // namespace foretoken
