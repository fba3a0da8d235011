#include "sim/run/kv_tiers.hpp"

#include <algorithm>

#include "sim/scenario/scenario.hpp"

namespace foretoken {
namespace {

/// Over the pools, whose blocks are of different sizes.
void add_host(const DeployedPools& pools, Report& report) {
  Report::HostKv sums;
  std::int64_t used_peak = 0;
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    const HostTotals host = pools.engine(pool).host();
    const double block = pools.engine(pool).memory().kv_block_all_ranks.value();
    sums.blocks += host.blocks;
    sums.bytes += static_cast<double>(host.blocks) * block;
    sums.bytes_to_host += static_cast<double>(host.copies.to_host) * block;
    sums.bytes_from_host += static_cast<double>(host.copies.from_host) * block;
    sums.swaps += host.swapped;
    used_peak += host.used_peak;
  }
  if (sums.blocks == 0) return;
  sums.peak = static_cast<double>(used_peak) / static_cast<double>(sums.blocks);
  report.kv.host = sums;
}

/// Likewise.
void add_store(const DeployedPools& pools, Report& report) {
  Report::KvStore sums;
  bool any = false;
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool) {
    const std::optional<KvStoreSettings>& settings = pools.specs()[pool].scenario.engine.kv_store;
    if (!settings) continue;
    any = true;
    const double block = pools.engine(pool).memory().kv_block_all_ranks.value();
    const KvCopies copies = pools.engine(pool).host().copies;
    const int stores =
        pools.engine(pool).kv_stores().own(replicas_max(pools.specs()[pool].scenario));
    sums.shared = sums.shared || settings->shared;
    sums.bytes += stores * settings->capacity.value();
    const double sent = block / settings->compression;
    sums.bytes_written += static_cast<double>(copies.to_store) * sent;
    sums.bytes_read += static_cast<double>(copies.from_store + copies.prefetched) * sent;
    sums.peak = std::max(sums.peak, pools.engine(pool).kv_stores().peak());
  }
  if (any) report.kv.store = sums;
}

}  // namespace

void add_kv_tiers(const DeployedPools& pools, Report& report) {
  add_host(pools, report);
  add_store(pools, report);
}

}  // namespace foretoken
