#include "sim/serving/autoscaler.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace foretoken {
namespace {

/// Relative difference from the target that changes nothing (Kubernetes 1.31,
/// --horizontal-pod-autoscaler-tolerance).
constexpr double tolerance = 0.1;

}  // namespace

Autoscaler::Autoscaler(const AutoscalerSettings& settings, std::int64_t sequences_max,
                       Platform& platform, Fleet& fleet, FleetPart part)
    : settings_(settings),
      sequences_max_(sequences_max),
      platform_(platform),
      fleet_(fleet),
      part_(part) {}

void Autoscaler::arm() { platform_.at(platform_.now() + settings_.interval, *this, 0); }

double Autoscaler::metric_sum() const {
  double sum = 0.0;
  for (std::size_t i = part_.first; i < end(); ++i) {
    if (fleet_.state(i) != ReplicaState::serving) continue;
    const AttentionRanks& ranks = fleet_.replica(i).ranks();
    switch (settings_.metric) {
      case ScalingMetric::queue:
        sum += static_cast<double>(ranks.waiting() + fleet_.replica(i).waiting_for_blocks());
        break;
      case ScalingMetric::outstanding:
        sum += static_cast<double>(fleet_.outstanding(i));
        break;
      case ScalingMetric::utilization:
        sum += static_cast<double>(ranks.running()) / static_cast<double>(sequences_max_);
        break;
      case ScalingMetric::kv:
        sum += static_cast<double>(ranks.blocks_used()) / static_cast<double>(ranks.blocks());
        break;
    }
  }
  const bool counts_requests =
      settings_.metric == ScalingMetric::queue || settings_.metric == ScalingMetric::outstanding;
  if (!counts_requests) return sum;
  const double share = static_cast<double>(part_.count) / static_cast<double>(fleet_.size());
  return sum + share * static_cast<double>(fleet_.held());
}

int Autoscaler::up() const {
  int count = 0;
  for (std::size_t i = part_.first; i < end(); ++i) {
    const ReplicaState state = fleet_.state(i);
    count += state == ReplicaState::serving || state == ReplicaState::starting ? 1 : 0;
  }
  return count;
}

int Autoscaler::wanted(int current) const {
  const double ideal = metric_sum() / settings_.target;
  const bool is_near =
      current > 0 && std::abs(ideal / static_cast<double>(current) - 1.0) <= tolerance;
  const double rounded = std::ceil(std::min(ideal, static_cast<double>(settings_.max)));
  return std::clamp(is_near ? current : static_cast<int>(rounded), settings_.min, settings_.max);
}

void Autoscaler::on_event(std::uint64_t /*tag*/) {
  const int current = up();
  const int wanted_now = wanted(current);
  const Seconds since_change = platform_.now() - changed_;
  if (wanted_now > current && since_change >= settings_.cooldown_up) grow(wanted_now - current);
  if (wanted_now < current && since_change >= settings_.cooldown_down) shrink(current - wanted_now);
  arm();
}

/// Draining replicas first, since their weights are loaded; then by number.
void Autoscaler::grow(int replicas) {
  for (const ReplicaState from : {ReplicaState::draining, ReplicaState::stopped}) {
    for (std::size_t i = part_.first; i < end() && replicas > 0; ++i) {
      if (fleet_.state(i) != from) continue;
      fleet_.start(i);
      changed_ = platform_.now();
      --replicas;
    }
  }
}

/// Those that start first, then those with the fewest requests, the highest number among equals.
void Autoscaler::shrink(int replicas) {
  for (; replicas > 0; --replicas) {
    std::optional<std::size_t> chosen;
    const auto loss = [&](std::size_t i) {
      return fleet_.state(i) == ReplicaState::starting ? -1 : fleet_.outstanding(i);
    };
    for (std::size_t i = part_.first; i < end(); ++i) {
      const ReplicaState state = fleet_.state(i);
      if (state != ReplicaState::serving && state != ReplicaState::starting) continue;
      if (!chosen || loss(i) <= loss(*chosen)) chosen = i;
    }
    if (!chosen) return;
    fleet_.stop(*chosen);
    changed_ = platform_.now();
  }
}

}  // namespace foretoken
