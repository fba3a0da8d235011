#include "kernels/estimators/stream_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

constexpr double warp = 32;

/// A warm launch's share of hits: all of a footprint far below 0.6 of the L2, none far above, as
/// products have it (gemm_model.cpp).
double hit_share(double footprint, double l2_size) {
  constexpr double fill = 0.6, power = 8;
  if (footprint <= 0) return 0;
  return 1 / (1 + std::pow(footprint / l2_size / fill, power));
}

struct StreamParts {
  double launch = 0, latency = 0, bytes = 0, issue = 0;  // s
  double waves = 0, tail = 0;
  double total = 0;
};

StreamParts parts_of(const StreamShape& shape, const StreamConstants& c, const GpuSpec& gpu) {
  StreamParts parts;
  const double cta_threads = std::ceil(shape.threads / warp) * warp;
  const double resident =
      std::clamp(std::floor(gpu.threads_sm / cta_threads), 1.0, static_cast<double>(gpu.ctas_sm));
  parts.waves = shape.ctas / (gpu.sm_count * resident);
  const double full = std::max(1.0, std::floor(shape.rounds + 1e-9));
  parts.tail = std::max(shape.rounds - full, 0.0);
  const double tail = parts.tail > 1e-6 ? c.tail + c.tail_share * parts.tail : 0;
  const double cta = c.first_round + c.full_cta * shape.threads / 1024 + c.round * (full - 1) +
                     tail + c.step * shape.steps;
  const double clock = gpu.clock.value();
  parts.launch = c.launch * gpu.launch_latency.value();
  parts.latency = (1 + c.wave * std::max(0.0, parts.waves - 1)) * cta / clock;
  parts.issue = shape.ctas / gpu.sm_count * c.cta_issue / clock;
  const bool is_narrow = shape.is_narrow && c.dram_share_narrow > 0;
  double from_dram = gpu.dram_bandwidth.value() * (is_narrow ? c.dram_share_narrow : c.dram_share);
  if (c.sm_rate > 0 && !is_narrow) {
    from_dram = std::min(from_dram, c.sm_rate * gpu.sm_count * clock);
  }
  const double from_l2 = std::max(from_dram, gpu.l2_bandwidth.value() * c.l2_share);
  const double hot = hit_share(shape.footprint, gpu.l2_size.value());
  parts.bytes = shape.bytes * (hot / from_l2 + (1 - hot) / from_dram);
  const double q = c.overlap;
  parts.total = parts.launch + std::pow(std::pow(parts.latency, q) + std::pow(parts.bytes, q) +
                                            std::pow(parts.issue, q),
                                        1 / q);
  return parts;
}

}  // namespace

StreamShape row_shape(std::int64_t rows, double row_bytes, double threads_most) {
  constexpr double access = 16;  // bytes a thread moves at once
  StreamShape shape;
  shape.ctas = static_cast<double>(rows);
  shape.threads = std::min(threads_most, std::ceil(row_bytes / access / warp) * warp);
  shape.rounds = row_bytes / access / shape.threads;
  return shape;
}

const std::vector<std::string>& StreamFamily::feature_names() const {
  static const std::vector<std::string> names = with_task_names(
      {"launch_share", "latency_share", "bytes_share", "issue_share", "log_waves", "log_rounds",
       "tail", "log_threads", "log_ctas_sm", "log_working_set", "is_narrow"});
  return names;
}

FirstOrder StreamFamily::first_order(const Kernel& kernel, const GpuSpec& gpu) const {
  const StreamParts parts = parts_of(shape_of_(kernel, gpu), constants_, gpu);
  const bool is_waiting = parts.launch + parts.latency + parts.issue > parts.bytes;
  return {Seconds(parts.total), is_waiting ? Bound::launch : Bound::dram};
}

void StreamFamily::features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const {
  const StreamShape shape = shape_of_(kernel, gpu);
  const StreamParts parts = parts_of(shape, constants_, gpu);
  out.add(parts.launch / parts.total);
  out.add(parts.latency / parts.total);
  out.add(parts.bytes / parts.total);
  out.add(parts.issue / parts.total);
  // Below these a GPU is as good as empty, and a logarithm would spread it out.
  constexpr double waves_least = 1e-3, set_least = 1e-4;
  out.add(std::log(std::max(parts.waves, waves_least)));
  out.add(std::log(std::max(shape.rounds, 1.0)));
  out.add(parts.tail);
  out.add(std::log(shape.threads));
  out.add(std::log(std::max(shape.ctas / gpu.sm_count, waves_least)));
  out.add(std::log(std::max(shape.bytes / gpu.l2_size.value(), set_least)));
  out.add(shape.is_narrow ? 1.0 : 0.0);
  write_task_features(kernel, gpu, Seconds(parts.total), out);
}

}  // namespace foretoken
