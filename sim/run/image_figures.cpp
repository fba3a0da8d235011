#include "sim/run/image_figures.hpp"

#include <algorithm>

namespace foretoken {

void add_images(const DeployedPools& pools, Report& report) {
  if (!pools.specs().front().scenario.workload->has_images()) return;
  EncoderTotals totals;
  ImageFigures& images = report.images.emplace(ImageFigures{});
  // Where some pools encode, the others are given what comes of it.
  const bool are_apart = std::ranges::any_of(pools.specs(), &PoolSpec::encodes);
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    if (pools.specs()[pool].encodes() != are_apart) continue;
    totals += pools.engine(pool).encoder();
    images.cache_tokens =
        std::max(images.cache_tokens, encoder_limits(pools.specs()[pool].scenario).cache_tokens);
  }
  images.reached = totals.images;
  if (totals.images > 0) {
    const auto count = static_cast<double>(totals.images);
    images.tokens_mean = static_cast<double>(totals.tokens) / count;
    images.cache_hit_rate = static_cast<double>(totals.found) / count;
  }
  double all = 0;
  for (const auto& [family, time] : pools.totals().time_by) {
    if (family == "encoder") images.encoder_s += time.value();
    if (family != "host") all += time.value();
  }
  images.sent_bytes = pools.images_sent().value();
  if (all > 0) images.encoder_share = images.encoder_s / all;
}

}  // namespace foretoken
