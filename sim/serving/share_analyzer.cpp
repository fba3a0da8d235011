// WVA's first analyzer, by shares ("V1", internal/saturation/analyzer.go): how far from their
// thresholds KV caches and queues of the replicas are that are below both. One replica comes or
// goes at a time, and none while another is on its way.
#include <algorithm>
#include <optional>
#include <tuple>

#include "sim/serving/variant_analyzer.hpp"

namespace foretoken {
namespace {

struct Spare {
  int replicas = 0;          // that are not saturated
  double kv = 0, queue = 0;  // mean
};

class ShareAnalyzer final : public VariantAnalyzer {
 public:
  ShareAnalyzer(const WvaSettings& settings, std::vector<Variant> variants)
      : VariantAnalyzer(std::move(variants)), settings_(settings) {}

 private:
  std::vector<int> wanted(const ModelView& view) override {
    std::vector<int> targets;
    bool is_seen = false, is_moving = false;
    for (std::size_t i = 0; i < view.variants.size(); ++i) {
      const VariantView& variant = view.variants[i];
      const bool is_settled = asked_.empty() || asked_[i] == 0 || asked_[i] == variant.replicas();
      targets.push_back(is_settled ? variant.replicas() : asked_[i]);
      if (variant.reporting.empty()) continue;  // nobody knows of it
      is_seen = true;
      is_moving |= !is_settled || std::ssize(variant.reporting) != variant.replicas();
    }
    if (is_seen && !is_moving) step(spare_of(view), view, targets);
    asked_ = targets;
    return targets;
  }

  void step(const Spare& spare, const ModelView& view, std::vector<int>& targets) const {
    if (is_short(spare.kv, spare.queue)) {
      if (const auto cheapest = choose(
              view, [&](std::size_t i) { return targets[i] < variants()[i].max; }, true))
        ++targets[*cheapest];
    } else if (is_one_to_spare(spare)) {
      if (const auto dearest = choose(
              view, [&](std::size_t i) { return targets[i] > std::max(1, variants()[i].min); },
              false))
        --targets[*dearest];
    }
  }

  [[nodiscard]] Spare spare_of(const ModelView& view) const {
    Spare spare;
    for (const VariantView& variant : view.variants) {
      for (const ReplicaMetrics& replica : variant.reporting) {
        const double kv = settings_.kv_cache_threshold - replica.kv_share;
        const double queue = settings_.queue_length_threshold - static_cast<double>(replica.queued);
        if (kv <= 0 || queue <= 0) continue;  // saturated
        ++spare.replicas;
        spare.kv += kv;
        spare.queue += queue;
      }
    }
    if (spare.replicas == 0) return spare;
    spare.kv /= spare.replicas;
    spare.queue /= spare.replicas;
    return spare;
  }

  [[nodiscard]] bool is_short(double kv, double queue) const {
    return kv < settings_.kv_spare_trigger || queue < settings_.queue_spare_trigger;
  }

  /// Whether one replica less, with the load spread over the others, would leave enough.
  [[nodiscard]] bool is_one_to_spare(const Spare& spare) const {
    if (spare.replicas < 2) return false;
    const double more = static_cast<double>(spare.replicas) / (spare.replicas - 1);
    const auto left = [more](double threshold, double now) {
      return threshold - (threshold - now) * more;
    };
    return !is_short(left(settings_.kv_cache_threshold, spare.kv),
                     left(settings_.queue_length_threshold, spare.queue));
  }

  /// The cheapest or the dearest of those that `may`; among equals the first or the last by name.
  template <class May>
  [[nodiscard]] std::optional<std::size_t> choose(const ModelView& view, const May& may,
                                                  bool cheapest) const {
    std::optional<std::size_t> chosen;
    const auto rank = [&](std::size_t i) {
      return std::tie(variants()[i].cost, variants()[i].name);
    };
    for (std::size_t i = 0; i < variants().size(); ++i) {
      if (view.variants[i].reporting.empty() || !may(i)) continue;
      if (!chosen || (cheapest ? rank(i) < rank(*chosen) : rank(*chosen) < rank(i))) chosen = i;
    }
    return chosen;
  }

  WvaSettings settings_;
  std::vector<int> asked_;  // at the last look
};

}  // namespace

std::unique_ptr<VariantAnalyzer> make_share_analyzer(const WvaSettings& settings,
                                                     std::vector<Variant> variants) {
  return std::make_unique<ShareAnalyzer>(settings, std::move(variants));
}

}  // namespace foretoken
