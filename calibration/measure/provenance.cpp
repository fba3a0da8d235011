// Collects the provenance every dataset shares.
#include "provenance.hpp"

#include <ctime>

#include "dataset_writer.hpp"

namespace foretoken::measure {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

Provenance provenance_of(const Gpu& gpu) {
  return {{"format", "foretoken dataset 1"},
          {"program", "foretoken-measure 1"},
          {"gpu", gpu.name},
          {"compute_capability",
           std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)},
          {"sm_count", std::to_string(gpu.sm_count)},
          {"l2_bytes", std::to_string(gpu.l2_bytes)},
          {"sm_clock_max_mhz", std::to_string(gpu.sm_clock_max_mhz)},
          {"memory_clock_max_mhz", std::to_string(gpu.memory_clock_max_mhz)},
          {"power_limit_w", number_text(gpu.power_limit_w)},
          {"driver", gpu.driver},
          {"cuda_runtime", cuda_version_text(gpu.cuda_runtime)},
          {"cuda_driver", cuda_version_text(gpu.cuda_driver)},
          {"date", today()},
          {"method",
           "CUDA graph of `launches` launches on different random-normal buffers; L2 swept before "
           "each of `repeats` replays; (event time - graph_head_us) / launches; median, 10th, 90th "
           "percentile; a rest of 8 ms before, batches of 1000 shapes from cool to hot; warm_us: "
           "one buffer, no sweep; sustained_us: launches "
           "of 100 us or more, after settle_ms of the same kernel; clocks as the card chose them"}};
}

}  // namespace foretoken::measure
