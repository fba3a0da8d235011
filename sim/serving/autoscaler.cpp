#include "sim/serving/autoscaler.hpp"

#include <algorithm>
#include <optional>

namespace foretoken {
namespace {

constexpr std::uint64_t look = 0, poll = 1;

}  // namespace

Autoscaler::Autoscaler(const AutoscalerSettings& settings, std::int64_t sequences_max,
                       Platform& platform, Fleet& fleet, FleetPart part, PoolRole role)
    : settings_(settings),
      sequences_max_(sequences_max),
      platform_(platform),
      fleet_(fleet),
      part_(part),
      role_(role),
      policy_(make_scaling_policy(settings)),
      most_(settings.max) {}

void Autoscaler::share(const Autoscaler& other, int gpus, int others_gpus) {
  other_ = &other;
  gpus_ = gpus;
  others_gpus_ = others_gpus;
  most_ = (settings_.max * gpus - other.settings_.min * others_gpus) / gpus;
}

void Autoscaler::arm() {
  arm(look);
  if (settings_.policy == ScalingPolicyKind::keda) arm(poll);
}

void Autoscaler::arm(std::uint64_t tag) {
  platform_.at(platform_.now() + (tag == poll ? settings_.polling_interval : settings_.interval),
               *this, tag);
}

double Autoscaler::share() const {
  return static_cast<double>(part_.count) / static_cast<double>(fleet_.size());
}

void Autoscaler::wake() {
  if (serving() + starting() > 0) return;
  set_desired(1);
  grow(1);
}

double Autoscaler::metric_sum() const {
  if (settings_.policy == ScalingPolicyKind::wva) return desired_.value_or(serving() + starting());
  double sum = 0.0;
  for (std::size_t i = part_.first; i < end(); ++i) {
    if (fleet_.state(i) != ReplicaState::serving) continue;
    const AttentionRanks& ranks = fleet_.replica(i).ranks();
    switch (settings_.metric) {
      case ScalingMetric::queue:
        sum += static_cast<double>(ranks.waiting() + fleet_.replica(i).waiting_for_blocks());
        break;
      case ScalingMetric::outstanding:  // more replicas would hand nothing over sooner
        sum += static_cast<double>(fleet_.outstanding(i) - ranks.retired());
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
  return sum + share() * static_cast<double>(fleet_.held());
}

int Autoscaler::count(ReplicaState state) const {
  int count = 0;
  for (std::size_t i = part_.first; i < end(); ++i) count += fleet_.state(i) == state ? 1 : 0;
  return count;
}

double Autoscaler::tokens() const {
  const Fleet::Demand& demand = fleet_.demand();
  const double prompts = role_ == PoolRole::decode ? 0.0 : demand.prompt_tokens;
  const double answers = role_ == PoolRole::prefill ? 0.0 : demand.output_tokens;
  return share() * (prompts + answers);
}

ScalingView Autoscaler::seen() const {
  ScalingView view;
  view.now = platform_.now();
  view.serving = count(ReplicaState::serving);
  view.starting = count(ReplicaState::starting);
  view.metric = metric_sum();
  view.tokens_per_s = (tokens() - tokens_before_) / settings_.interval.value();
  view.changed_at = changed_;
  return view;
}

void Autoscaler::on_event(std::uint64_t tag) {
  const ScalingView view = seen();
  if (tag == look) tokens_before_ = tokens();
  follow(tag == poll ? policy_->poll(view) : policy_->look(view), view.replicas());
  arm(tag);
}

void Autoscaler::follow(int wanted, int current) {
  wanted = std::min(wanted, most_);
  if (wanted > current) grow(wanted - current);
  lacking_ = std::max(0, wanted - count(ReplicaState::serving) - count(ReplicaState::starting));
  const int spare = current - wanted;
  if (spare > 0) shrink(other_ == nullptr ? spare : std::min(spare, asked_for()));
}

int Autoscaler::asked_for() const {
  const int gpus = other_->lacking_ * others_gpus_;
  return std::max(0, (gpus + gpus_ - 1) / gpus_ - count(ReplicaState::draining));
}

/// Draining replicas first, since their weights are loaded; then by number.
void Autoscaler::grow(int replicas) {
  for (const ReplicaState from : {ReplicaState::draining, ReplicaState::stopped}) {
    for (std::size_t i = part_.first; i < end() && replicas > 0; ++i) {
      if (fleet_.state(i) != from) continue;
      if (from == ReplicaState::stopped && !fleet_.finds_gpus(i)) continue;
      fleet_.start(i);
      changed_ = platform_.now();
      --replicas;
    }
  }
}

/// Those that start first, then those with the fewest requests, the highest number among equals. On
/// shared GPUs the highest number: there the other pool's begin.
void Autoscaler::shrink(int replicas) {
  for (; replicas > 0; --replicas) {
    std::optional<std::size_t> chosen;
    const auto loss = [&](std::size_t i) {
      if (other_ != nullptr) return std::int64_t{0};
      return fleet_.state(i) == ReplicaState::starting ? std::int64_t{-1} : fleet_.outstanding(i);
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
