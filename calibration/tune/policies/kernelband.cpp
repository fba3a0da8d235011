// KernelBand as its first version says it (arXiv 2511.18868 v1): every (kernel, strategy) scored by
// its cluster's mean reward, an upper confidence bound over the cluster's pulls, and the
// probability that the strategy helps a kernel with this profile (Equations 8, 11 and 12). What the
// paper leaves out is an option; defaults and their reasons stand in the README.
#include <cmath>
#include <limits>

#include "calibration/tune/cluster_pulls.hpp"
#include "calibration/tune/clusters.hpp"
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

struct KernelBandConfig {
  double lambda = 0.5;       // weight of the compatibility term
  double exploration = 1.0;  // factor on sqrt(2 ln t / n)
  bool warm_up = false;      // every (cluster, strategy) once, first
  double prior_mean = 0.5;   // of an arm nobody pulled: optimistic, in place of the warm-up
  double prior_pulls = 1.0;
  double speed = 0.0;  // weight of how fast the kernel is among all: best time / its time
  bool pretrain = true;
  int pretrain_epochs = 5;
  ClusterConfig clusters;
  HeadConfig heads;
};

void read_config(TableReader& options, KernelBandConfig& config) {
  options.read("lambda", config.lambda);
  options.expect("lambda", config.lambda >= 0, "must not be negative");
  options.read("exploration", config.exploration);
  options.expect("exploration", config.exploration >= 0, "must not be negative");
  options.read("warm_up", config.warm_up);
  options.read("prior_mean", config.prior_mean);
  options.read("prior_pulls", config.prior_pulls);
  options.expect("prior_pulls", config.prior_pulls > 0, "must be above 0");
  options.read("speed", config.speed);
  options.read("pretrain", config.pretrain);
  options.read("pretrain_epochs", config.pretrain_epochs);
  options.read("clusters", config.clusters.clusters);
  options.expect("clusters", config.clusters.clusters >= 1, "must be at least 1");
  options.read("refresh_rounds", config.clusters.refresh_rounds);
  options.read("subsample", config.clusters.subsample);
  options.read("restarts", config.clusters.restarts);
  options.expect("restarts", config.clusters.restarts >= 1, "must be at least 1");
  options.read("buffer", config.heads.buffer);
  options.expect("buffer", config.heads.buffer >= 1, "must be at least 1");
  options.read("learning_rate", config.heads.learning_rate);
  options.read("penalty", config.heads.penalty);
}

class KernelBandPolicy final : public Policy {
 public:
  KernelBandPolicy(const KernelBandConfig& config, const PolicyContext& context)
      : config_(config),
        random_(RandomStreams(context.seed).stream("kernelband")),
        clusters_(config.clusters),
        compatibility_(config.heads) {
    if (config.pretrain) compatibility_.pretrain(context.prior, config.pretrain_epochs);
  }

  std::optional<Arm> choose(const Round& round) override {
    take_in(round.pool);
    if (clusters_.update(points_, round.number, random_)) {
      pulls_.recount(clusters_.count(), clusters_.assignment());
    }
    double fastest = std::numeric_limits<double>::infinity();
    for (const PoolEntry& entry : round.pool) fastest = std::min(fastest, entry.time);
    std::optional<Arm> best;
    Score highest;
    for (std::size_t k = 0; k < round.pool.size(); ++k) {
      const int cluster = clusters_.assignment()[k];
      const Profile scaled = scale_.scaled(round.pool[k].profile);
      for (std::size_t s = 0; s < strategy_count; ++s) {
        if (!round.available[k][s]) continue;
        const auto strategy = static_cast<Strategy>(s);
        const ClusterPulls::Sum& pulled = pulls_.at(cluster, strategy);
        const double pulls = pulled.count + config_.prior_pulls;
        Score score{
            pulled.mean_with(config_.prior_mean, config_.prior_pulls) +
                config_.exploration * std::sqrt(2 * std::log(std::max(1, round.number)) / pulls),
            pulled.count, round.pool[k].compile_seconds};
        if (config_.lambda > 0) {
          score.value += config_.lambda * compatibility_.probability(scaled, strategy);
        }
        score.value += config_.speed * fastest / round.pool[k].time;
        if (config_.warm_up && pulled.count == 0) {
          score.value = std::numeric_limits<double>::infinity();
        }
        if (!best || score.beats(highest)) {
          best = Arm{static_cast<int>(k), strategy};
          highest = score;
        }
      }
    }
    return best;
  }

  void learn(const Outcome& outcome, const Pool& pool) override {
    pulls_.add(outcome.arm, outcome.reward, clusters_.assignment());
    const auto kernel = static_cast<std::size_t>(outcome.arm.kernel);
    compatibility_.add(scale_.scaled(pool[kernel].profile), outcome.arm.strategy, outcome.improved);
  }

  [[nodiscard]] std::vector<int> clusters() const override { return clusters_.assignment(); }

 private:
  struct Score {
    double value = 0;
    int pulls = 0;
    double compile_seconds = 0;
    /// Ties go to fewer pulls, then to the shorter compilation.
    [[nodiscard]] bool beats(const Score& other) const {
      if (value != other.value) return value > other.value;
      if (pulls != other.pulls) return pulls < other.pulls;
      return compile_seconds < other.compile_seconds;
    }
  };

  void take_in(const Pool& pool) {
    for (std::size_t k = points_.size(); k < pool.size(); ++k) {
      points_.push_back(pool[k].runtime);
      scale_.add(pool[k].profile);
    }
  }

  KernelBandConfig config_;
  RandomStream random_;
  IncrementalClusters clusters_;
  Compatibility compatibility_;
  ProfileScale scale_;
  std::vector<RuntimeFeatures> points_;
  ClusterPulls pulls_;
};

std::unique_ptr<Policy> make(KernelBandConfig config, TableReader& options,
                             const PolicyContext& context) {
  read_config(options, config);
  return std::make_unique<KernelBandPolicy>(config, context);
}

}  // namespace

std::unique_ptr<Policy> make_kernelband(TableReader& options, const PolicyContext& context) {
  return make({}, options, context);
}

// Chosen on simulated kernels, judged on recorded ones: see the README.
std::unique_ptr<Policy> make_kernelband_fastest(TableReader& options,
                                                const PolicyContext& context) {
  KernelBandConfig config;
  config.lambda = 0;
  config.exploration = 0.05;
  config.prior_mean = 0.1;
  config.speed = 0.04;
  return make(config, options, context);
}

std::unique_ptr<Policy> make_kernelband_no_prior(TableReader& options,
                                                 const PolicyContext& context) {
  KernelBandConfig config;
  config.lambda = 0;
  return make(config, options, context);
}

std::unique_ptr<Policy> make_kernelband_cold(TableReader& options, const PolicyContext& context) {
  KernelBandConfig config;
  config.pretrain = false;
  return make(config, options, context);
}

std::unique_ptr<Policy> make_kernelband_no_clusters(TableReader& options,
                                                    const PolicyContext& context) {
  KernelBandConfig config;
  config.clusters.clusters = 1;
  return make(config, options, context);
}

}  // namespace foretoken::tune
