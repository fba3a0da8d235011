#include "sim/run/media_figures.hpp"

#include <algorithm>

#include "sim/run/encoder_deployment.hpp"

namespace foretoken {

namespace {

MediaFigures figures_of(Medium medium, const EncoderTotals& totals, const DeployedPools& pools) {
  MediaFigures figures;
  const EncodedItems& items = totals.of(medium);
  figures.reached = items.reached;
  if (items.reached > 0) {
    const auto count = static_cast<double>(items.reached);
    figures.tokens_mean = static_cast<double>(items.tokens) / count;
    figures.cache_hit_rate = static_cast<double>(items.found) / count;
  }
  double all = 0;
  for (const auto& [family, time] : pools.totals().time_by) {
    if (family == encoder_family(medium)) figures.encoder_s += time.value();
    if (family != "host") all += time.value();
  }
  figures.sent_bytes = pools.media_sent(medium).value();
  if (all > 0) figures.encoder_share = figures.encoder_s / all;
  return figures;
}

}  // namespace

void add_media(const DeployedPools& pools, Report& report) {
  const Workload& workload = *pools.specs().front().scenario.workload;
  if (!workload.has_media()) return;
  EncoderTotals totals;
  std::int64_t cache_tokens = 0;
  // Where some pools encode, the others are given what comes of it.
  const bool are_apart = std::ranges::any_of(pools.specs(), &PoolSpec::encodes);
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    if (pools.specs()[pool].encodes() != are_apart) continue;
    totals += pools.engine(pool).encoder();
    cache_tokens =
        std::max(cache_tokens, encoder_limits(pools.specs()[pool].scenario).cache_tokens);
  }
  for (const Medium medium : all_media) {
    if (!workload.has(medium)) continue;
    auto& figures = medium == Medium::image ? report.images : report.audio;
    figures = figures_of(medium, totals, pools);
    figures->cache_tokens = cache_tokens;
  }
}

}  // namespace foretoken
