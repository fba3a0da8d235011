// KernelBand as its second version's code does it: UCB over (cluster, strategy) alone, a strategy
// masked where the cluster's representative already saturates what the strategy is for, then a
// kernel of the cluster drawn by how far from saturation it is. Statistics follow the kernels, not
// the numbers of clusters.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/tune/cluster_pulls.hpp"
#include "calibration/tune/clusters.hpp"
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

/// What a strategy is meant to relieve: the number in a Profile.
constexpr std::array<int, strategy_count> targets{profile_l2, profile_dram, profile_dram,
                                                  profile_sm, profile_sm,   profile_dram};

struct KernelBandV2Config {
  double exploration = 2.0;  // c
  double saturation = 75;    // percent
  double temperature = 1.0;  // of the draw within a cluster, in percent
  bool mask = true;
  int cluster_pool_min = 6;  // kernels before there is more than one cluster
  ClusterConfig clusters{.subsample = 1.0};
};

class KernelBandV2Policy final : public Policy {
 public:
  KernelBandV2Policy(const KernelBandV2Config& config, std::uint64_t seed)
      : config_(config),
        random_(RandomStreams(seed).stream("kernelband_v2")),
        clusters_(config.clusters) {}

  std::optional<Arm> choose(const Round& round) override {
    for (std::size_t k = points_.size(); k < round.pool.size(); ++k) {
      points_.push_back(round.pool[k].runtime);
    }
    if (static_cast<int>(points_.size()) >= config_.cluster_pool_min &&
        clusters_.update(points_, round.number, random_)) {
      pulls_.recount(std::max(1, clusters_.count()), clusters_.assignment());
    }
    const int count = std::max(1, clusters_.count());
    const auto total = static_cast<double>(std::max<std::size_t>(1, pulls_.size()));
    int best_cluster = -1;
    std::size_t best_strategy = 0;
    double highest = 0;
    for (int c = 0; c < count; ++c) {
      const std::vector<int> members = members_of(c, round.pool.size());
      if (members.empty()) continue;
      const std::array<bool, strategy_count> masked = mask_of(members, round.pool);
      for (std::size_t s = 0; s < strategy_count; ++s) {
        const bool can = std::ranges::any_of(
            members, [&](int k) { return round.available[static_cast<std::size_t>(k)][s]; });
        if (!can) continue;
        // The optimistic start: mean 1/2 of one pull.
        const ClusterPulls::Sum& pulled = pulls_.at(c, static_cast<Strategy>(s));
        double score = pulled.mean_with(0.5, 1) +
                       config_.exploration * std::sqrt(std::log(total) / (pulled.count + 1));
        // Where nothing but masked arms can be pulled, the best of them is.
        if (masked[s]) score -= masked_penalty;
        if (best_cluster < 0 || score > highest) {
          best_cluster = c;
          best_strategy = s;
          highest = score;
        }
      }
    }
    if (best_cluster < 0) return std::nullopt;
    return Arm{draw_kernel(best_cluster, best_strategy, round),
               static_cast<Strategy>(best_strategy)};
  }

  void learn(const Outcome& outcome, const Pool&) override {
    pulls_.add(outcome.arm, outcome.reward, clusters_.assignment());
  }

  [[nodiscard]] std::vector<int> clusters() const override { return clusters_.assignment(); }

 private:
  static constexpr double masked_penalty = 1e6;

  [[nodiscard]] int cluster_of(std::size_t kernel) const {
    return kernel < clusters_.assignment().size() ? clusters_.assignment()[kernel] : 0;
  }
  [[nodiscard]] std::vector<int> members_of(int cluster, std::size_t pool_size) const {
    std::vector<int> members;
    for (std::size_t k = 0; k < pool_size; ++k) {
      if (cluster_of(k) == cluster) members.push_back(static_cast<int>(k));
    }
    return members;
  }
  static double target_of(const PoolEntry& entry, std::size_t strategy) {
    return entry.profile[static_cast<std::size_t>(targets[strategy])];
  }
  /// Saturated strategies of the kernel nearest to the centroid; the least saturated stays.
  [[nodiscard]] std::array<bool, strategy_count> mask_of(const std::vector<int>& members,
                                                         const Pool& pool) const {
    std::array<bool, strategy_count> masked{};
    if (!config_.mask) return masked;
    int representative = members.front();
    if (clusters_.count() > 0) {
      representative = *std::ranges::min_element(
          members, {}, [&](int k) { return clusters_.distance(points_, k); });
    }
    const PoolEntry& entry = pool[static_cast<std::size_t>(representative)];
    std::size_t least = 0;
    for (std::size_t s = 0; s < strategy_count; ++s) {
      masked[s] = target_of(entry, s) >= config_.saturation;
      if (target_of(entry, s) < target_of(entry, least)) least = s;
    }
    if (std::ranges::all_of(masked, [](bool m) { return m; })) masked[least] = false;
    return masked;
  }
  int draw_kernel(int cluster, std::size_t strategy, const Round& round) {
    std::vector<int> able;
    for (const int k : members_of(cluster, round.pool.size())) {
      if (round.available[static_cast<std::size_t>(k)][strategy]) able.push_back(k);
    }
    double highest = -std::numeric_limits<double>::infinity();
    std::vector<double> logits;
    for (const int k : able) {
      logits.push_back(
          (config_.saturation - target_of(round.pool[static_cast<std::size_t>(k)], strategy)) /
          config_.temperature);
      highest = std::max(highest, logits.back());
    }
    double total = 0;
    for (double& logit : logits) total += logit = std::exp(logit - highest);
    double drawn = uniform(random_) * total;
    for (std::size_t i = 0; i < able.size(); ++i) {
      drawn -= logits[i];
      if (drawn < 0) return able[i];
    }
    return able.back();
  }

  KernelBandV2Config config_;
  RandomStream random_;
  IncrementalClusters clusters_;
  std::vector<RuntimeFeatures> points_;
  ClusterPulls pulls_;
};

std::unique_ptr<Policy> make(KernelBandV2Config config, TableReader& options,
                             const PolicyContext& context) {
  options.read("exploration", config.exploration);
  options.expect("exploration", config.exploration >= 0, "must not be negative");
  options.read("saturation", config.saturation);
  options.read("temperature", config.temperature);
  options.expect("temperature", config.temperature > 0, "must be above 0");
  options.read("mask", config.mask);
  options.read("clusters", config.clusters.clusters);
  options.expect("clusters", config.clusters.clusters >= 1, "must be at least 1");
  options.read("refresh_rounds", config.clusters.refresh_rounds);
  return std::make_unique<KernelBandV2Policy>(config, context.seed);
}

}  // namespace

std::unique_ptr<Policy> make_kernelband_v2(TableReader& options, const PolicyContext& context) {
  return make({}, options, context);
}

std::unique_ptr<Policy> make_kernelband_v2_no_mask(TableReader& options,
                                                   const PolicyContext& context) {
  KernelBandV2Config config;
  config.mask = false;
  return make(config, options, context);
}

}  // namespace foretoken::tune
