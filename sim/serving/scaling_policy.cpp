#include "sim/serving/scaling_policy.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace foretoken {
namespace {

int rounded_up(double replicas, int most) {
  return static_cast<int>(std::ceil(std::min(replicas, static_cast<double>(most))));
}

/// metric / target, with the tolerance of Kubernetes, and rests after each change.
class CooldownPolicy final : public ScalingPolicy {
 public:
  explicit CooldownPolicy(const AutoscalerSettings& settings) : settings_(settings) {}

  int look(const ScalingView& view) override {
    const int current = view.replicas();
    const double ideal = view.metric / settings_.target;
    const bool is_near = current > 0 && std::abs(ideal / current - 1.0) <= settings_.tolerance;
    const int wanted = std::clamp(is_near ? current : rounded_up(ideal, settings_.max),
                                  settings_.min, settings_.max);
    const Seconds rested = view.now - view.changed_at;
    if (wanted > current && rested < settings_.cooldown_up) return current;
    if (wanted < current && rested < settings_.cooldown_down) return current;
    return wanted;
  }

 private:
  AutoscalerSettings settings_;
};

/// Kubernetes' Horizontal Pod Autoscaler, autoscaling/v2: recommendations, the steadiest of a
/// window, then how fast replicas may come and go (kubernetes.io, "Horizontal Pod Autoscaling",
/// Algorithm details and Configurable scaling behavior).
class HpaPolicy : public ScalingPolicy {
 public:
  explicit HpaPolicy(const AutoscalerSettings& settings) : settings_(settings) {}

  int look(const ScalingView& view) override {
    const int current = view.replicas();
    const int least = least_replicas();
    // Asleep, which is not for this to end; or failed, and their deployment replaces them.
    if (current == 0 && least > 0) return settings_.min;
    int wanted = recommended(view);
    if (current < least) wanted = least;
    wanted = stabilized(view.now, current, wanted);
    wanted = std::clamp(limited(view.now, current, wanted), least, settings_.max);
    if (wanted != current) changes_.push_back({view.now, wanted - current});
    return wanted;
  }

 protected:
  /// By pods' metrics: those that start count as idle where more are wanted, so that a burst is not
  /// answered twice, and not at all where fewer are.
  [[nodiscard]] virtual int recommended(const ScalingView& view) const {
    if (view.serving == 0) return view.replicas();  // nobody to ask
    double ratio = view.metric / (settings_.target * view.serving);
    int counted = view.serving;
    if (ratio > 1.0 && view.starting > 0) {
      counted = view.replicas();
      ratio = view.metric / (settings_.target * counted);
      if (ratio < 1.0) return view.replicas();
    }
    if (is_within_tolerance(ratio)) return view.replicas();
    const int wanted = rounded_up(ratio * counted, settings_.max);
    if (ratio > 1.0 && wanted < view.replicas()) return view.replicas();
    return wanted;
  }

  /// 0 = it scales up from none as well (feature gate HPAScaleToZero).
  [[nodiscard]] virtual int least_replicas() const { return std::max(1, settings_.min); }

  [[nodiscard]] bool is_within_tolerance(double ratio) const {
    return std::abs(ratio - 1.0) <= settings_.tolerance;
  }
  [[nodiscard]] const AutoscalerSettings& settings() const { return settings_; }

 private:
  struct Dated {
    Seconds at;
    int replicas = 0;
  };

  /// Up as far as everything in the window asked for, down no further than anything did.
  int stabilized(Seconds now, int current, int wanted) {
    const Seconds longest = std::max(settings_.window_up, settings_.window_down);
    while (!asked_.empty() && asked_.front().at <= now - longest) asked_.pop_front();
    int up = wanted, down = wanted;
    for (const Dated& one : asked_) {
      if (one.at > now - settings_.window_up) up = std::min(up, one.replicas);
      if (one.at > now - settings_.window_down) down = std::max(down, one.replicas);
    }
    asked_.push_back({now, wanted});
    return std::min(std::max(current, up), down);
  }

  /// As far as the rule goes that goes furthest.
  [[nodiscard]] int limited(Seconds now, int current, int wanted) const {
    const bool is_up = wanted > current;
    const std::vector<ScalingRate>& rates = is_up ? settings_.up : settings_.down;
    if (wanted == current || rates.empty()) return wanted;
    int limit = current;
    for (const ScalingRate& rate : rates) {
      const int before = current - changed_since(now - rate.period);
      const int reach = is_up ? most_after(rate, before) : least_after(rate, before);
      limit = is_up ? std::max(limit, reach) : std::min(limit, reach);
    }
    return is_up ? std::min(wanted, limit) : std::max(wanted, limit);
  }

  static int most_after(const ScalingRate& rate, int before) {
    if (rate.replicas) return before + *rate.replicas;
    return static_cast<int>(std::ceil(before * (1 + *rate.percent / 100)));
  }
  static int least_after(const ScalingRate& rate, int before) {
    if (rate.replicas) return before - *rate.replicas;
    return static_cast<int>(before * (1 - *rate.percent / 100));
  }

  [[nodiscard]] int changed_since(Seconds date) const {
    int sum = 0;
    for (const Dated& change : changes_) sum += change.at > date ? change.replicas : 0;
    return sum;
  }

  AutoscalerSettings settings_;
  std::deque<Dated> asked_;     // within the longest window
  std::vector<Dated> changes_;  // replicas added, or taken away
};

/// Kubernetes' autoscaler by an external metric with target AverageValue: its sum over all
/// replicas.
class ExternalMetricPolicy : public HpaPolicy {
 public:
  explicit ExternalMetricPolicy(const AutoscalerSettings& settings) : HpaPolicy(settings) {}

 private:
  [[nodiscard]] int recommended(const ScalingView& view) const override {
    const double ideal = view.metric / settings().target;
    if (is_within_tolerance(ideal / view.replicas())) return view.replicas();
    return rounded_up(ideal, settings().max);
  }
};

/// What llm-d puts behind its Workload Variant Autoscaler: the metric is the number of replicas
/// that this wants, the target 1 (llm-d, guides/workload-autoscaling, hpa.yaml).
class WvaPolicy final : public ExternalMetricPolicy {
 public:
  explicit WvaPolicy(AutoscalerSettings settings) : ExternalMetricPolicy(by_one(settings)) {}

 private:
  static AutoscalerSettings& by_one(AutoscalerSettings& settings) {
    settings.target = 1.0;
    return settings;
  }
  [[nodiscard]] int least_replicas() const override { return settings().min; }
};

/// KEDA: it wakes and sends to sleep by itself, and has Kubernetes' autoscaler do the rest by the
/// trigger's sum over all replicas (keda.sh, "Scaling Deployments", ScaledObject specification).
class KedaPolicy final : public ExternalMetricPolicy {
 public:
  explicit KedaPolicy(const AutoscalerSettings& settings) : ExternalMetricPolicy(settings) {}

  int poll(const ScalingView& view) override {
    const int current = view.replicas();
    const bool is_active = view.metric > settings().activation;
    if (is_active) active_at_ = view.now;
    if (is_active && current == 0) return std::max(1, settings().min);
    const bool may_sleep = settings().min == 0 && !is_active && current > 0;
    return may_sleep && view.now - active_at_ >= settings().cooldown ? 0 : current;
  }

 private:
  Seconds active_at_;  // at the beginning it is taken to be
};

/// Sizes for the load to come by what a replica was measured to do within its targets, as Dynamo's
/// SLA planner does: a predicted rate of tokens over the profiled one (docs.nvidia.com/dynamo, "SLA
/// Planner"). Its correction by observed latencies is left out.
class PlannerPolicy final : public ScalingPolicy {
 public:
  explicit PlannerPolicy(const AutoscalerSettings& settings) : settings_(settings) {}

  int look(const ScalingView& view) override {
    rates_.push_back(view.tokens_per_s);
    if (std::ssize(rates_) > settings_.history) rates_.pop_front();
    const double predicted =
        settings_.prediction == LoadPrediction::trend ? next_on_line() : rates_.back();
    return std::clamp(rounded_up(predicted / settings_.capacity->value(), settings_.max),
                      settings_.min, settings_.max);
  }

 private:
  /// The least-squares line through the rates, one look further.
  [[nodiscard]] double next_on_line() const {
    const auto count = static_cast<double>(rates_.size());
    if (rates_.size() < 2) return rates_.back();
    const double middle = (count - 1) / 2;
    double mean = 0, above = 0, below = 0;
    for (const double rate : rates_) mean += rate / count;
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      const double off = static_cast<double>(i) - middle;
      above += off * (rates_[i] - mean);
      below += off * off;
    }
    return std::max(0.0, mean + above / below * (count - middle));
  }

  AutoscalerSettings settings_;
  std::deque<double> rates_;
};

}  // namespace

std::unique_ptr<ScalingPolicy> make_scaling_policy(const AutoscalerSettings& settings) {
  switch (settings.policy) {
    case ScalingPolicyKind::cooldown:
      return std::make_unique<CooldownPolicy>(settings);
    case ScalingPolicyKind::hpa:
      return std::make_unique<HpaPolicy>(settings);
    case ScalingPolicyKind::keda:
      return std::make_unique<KedaPolicy>(settings);
    case ScalingPolicyKind::planner:
      return std::make_unique<PlannerPolicy>(settings);
    case ScalingPolicyKind::wva:
      return std::make_unique<WvaPolicy>(settings);
  }
  FORETOKEN_CHECK(false, "an autoscaler of no policy");
}

}  // namespace foretoken
