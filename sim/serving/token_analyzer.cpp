// WVA's analyzer by tokens of KV cache ("V2", internal/engines/analyzers/saturation_v2/analyzer.go,
// internal/engines/saturation/engine_v2.go, internal/engines/pipeline/cost_aware_optimizer.go):
// what requests hold or wait for, against what replicas can serve, which is bound by their caches
// or by what they were seen to hold when requests queued.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/serving/variant_analyzer.hpp"

namespace foretoken {
namespace {

constexpr std::size_t remembered = 10;                     // RollingAverageWindowSize
constexpr double short_output = 100, medium_output = 500;  // ShortOutputThreshold, Medium…

double whole(double tokens) { return std::floor(tokens); }

double mean_of(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : whole((values[half - 1] + values[half]) / 2);
}

int length_class(double output_tokens) {
  return output_tokens < short_output ? 0 : output_tokens < medium_output ? 1 : 2;
}

/// Mean over the replicas that know.
struct RequestShape {
  double prompt_tokens = 0, output_tokens = 0, prefix_hits = 0;
};

RequestShape shape_of(const ModelView& view) {
  RequestShape mean;
  int known = 0;
  for (const VariantView& variant : view.variants) {
    for (const ReplicaMetrics& replica : variant.reporting) {
      if (replica.prompt_tokens <= 0 && replica.output_tokens <= 0) continue;
      mean.prompt_tokens += replica.prompt_tokens;
      mean.output_tokens += replica.output_tokens;
      mean.prefix_hits += replica.prefix_hits;
      ++known;
    }
  }
  if (known == 0) return mean;
  return {mean.prompt_tokens / known, mean.output_tokens / known, mean.prefix_hits / known};
}

/// A step's budget as a steady state: so many sequences decode while prompts of their successors
/// fill the rest of it, each half way through its answer. 0 = unknown.
double capacity_of_steps(const Variant& variant, double prompt, double output) {
  if (output <= 0 || variant.batch_tokens <= 0) return 0;
  const double running =
      std::min(static_cast<double>(variant.batch_tokens) * output / (prompt + output),
               static_cast<double>(variant.sequences));
  return whole(running * (prompt + output / 2));
}

class TokenAnalyzer final : public VariantAnalyzer {
 public:
  TokenAnalyzer(const WvaSettings& settings, std::vector<Variant> variants)
      : VariantAnalyzer(std::move(variants)),
        settings_(settings),
        measured_(this->variants().size(), 0.0) {}

 private:
  std::vector<int> wanted(const ModelView& view) override {
    std::vector<int> targets;
    std::vector<double> each;  // tokens that a replica can serve
    double supply = 0, anticipated = 0, demand = demand_held(view);
    for (std::size_t i = 0; i < view.variants.size(); ++i) {
      const VariantView& variant = view.variants[i];
      targets.push_back(variant.replicas());
      each.push_back(capacity(i, view));
      const auto counted = static_cast<double>(
          variant.reporting.empty() ? variant.serving : std::ssize(variant.reporting));
      supply += counted * each[i];
      anticipated += (counted + variant.starting) * each[i];
      for (const ReplicaMetrics& replica : variant.reporting) demand += demand_of(replica);
    }
    const double lacking = demand / settings_.scale_up_threshold - anticipated;
    const double spare = supply - demand / settings_.scale_down_boundary;
    if (lacking > 0) {
      add(lacking, each, targets);
    } else if (spare > 0) {
      remove(spare, each, targets);
    }
    return targets;
  }

  /// Tokens that a replica's requests hold, and those that its queue will: all of their answers
  /// too.
  static double demand_of(const ReplicaMetrics& replica) {
    return whole(replica.kv_share * replica.kv_capacity) +
           whole(static_cast<double>(replica.queued) *
                 (replica.prompt_tokens + replica.output_tokens));
  }

  static double demand_held(const ModelView& view) {
    const RequestShape shape = shape_of(view);
    return static_cast<double>(view.held) *
           (shape.prompt_tokens * (1 - shape.prefix_hits) + shape.output_tokens);
  }

  /// Of a replica of variant `i`: the median of those that report; without any what the last one
  /// had, or what its steps allow.
  double capacity(std::size_t i, const ModelView& view) {
    std::vector<double> capacities;
    for (const ReplicaMetrics& replica : view.variants[i].reporting) {
      if (replica.kv_capacity <= 0) continue;
      capacities.push_back(capacity_of(variants()[i], replica));
      measured_[i] = capacities.back();
    }
    if (!capacities.empty()) return median_of(std::move(capacities));
    if (measured_[i] > 0) return measured_[i];
    const RequestShape shape = shape_of(view);
    const double derived =
        capacity_of_steps(variants()[i], shape.prompt_tokens, shape.output_tokens);
    return derived > 0 ? derived : static_cast<double>(variants()[i].batch_tokens);
  }

  double capacity_of(const Variant& variant, const ReplicaMetrics& replica) {
    const double by_memory = whole(replica.kv_capacity * settings_.kv_cache_threshold);
    return std::min(by_memory, capacity_by_compute(variant, replica, by_memory));
  }

  /// What it holds while requests queue is what it can; else what such a replica could then, or
  /// what its steps allow.
  double capacity_by_compute(const Variant& variant, const ReplicaMetrics& replica,
                             double by_memory) {
    std::deque<double>& history = seen_[{variant.hardware, length_class(replica.output_tokens)}];
    const double in_use = whole(replica.kv_share * replica.kv_capacity);
    if (replica.queued >= settings_.queue_length_threshold && in_use > 0) {
      history.push_back(in_use);
      if (history.size() > remembered) history.pop_front();
      return in_use;
    }
    if (!history.empty()) return whole(mean_of(history));
    const double derived = capacity_of_steps(variant, replica.prompt_tokens, replica.output_tokens);
    return derived > 0 ? derived : by_memory;
  }

  /// Where a token of capacity is cheapest, as many as it takes or may have; then the next.
  void add(double lacking, const std::vector<double>& each, std::vector<int>& targets) const {
    std::vector<std::size_t> order = known(each);
    std::ranges::sort(order, {}, [&](std::size_t i) {
      return std::tuple(variants()[i].cost / each[i], std::string_view(variants()[i].name));
    });
    for (const std::size_t i : order) {
      if (lacking <= 0) return;
      const int room = variants()[i].max - targets[i];
      const int more = std::min(rounded(std::ceil(lacking / each[i])), std::max(0, room));
      targets[i] += more;
      lacking -= more * each[i];
    }
  }

  /// From the dearest, as many as the rest can do without; one of the cheapest stays if no other
  /// does.
  void remove(double spare, const std::vector<double>& each, std::vector<int>& targets) const {
    std::vector<std::size_t> order = known(each);
    std::ranges::sort(order, {}, [&](std::size_t i) {
      return std::tuple(-variants()[i].cost, each[i], std::string_view(variants()[i].name));
    });
    int dearer = 0;  // replicas
    for (const std::size_t i : order) {
      int fewer = std::min(rounded(std::floor(spare / each[i])), targets[i] - variants()[i].min);
      if (i == order.back() && dearer == 0) fewer = std::min(fewer, targets[i] - 1);
      fewer = std::max(0, fewer);
      targets[i] -= fewer;
      spare = std::max(0.0, spare - fewer * each[i]);
      dearer += targets[i];
    }
  }

  static int rounded(double replicas) {
    return static_cast<int>(
        std::min(replicas, static_cast<double>(std::numeric_limits<int>::max())));
  }

  static std::vector<std::size_t> known(const std::vector<double>& each) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (each[i] > 0) order.push_back(i);
    }
    return order;
  }

  WvaSettings settings_;
  std::vector<double> measured_;  // by variant, of the last replica that reported; 0 = none has
  std::map<std::pair<std::string, int>, std::deque<double>> seen_;  // by hardware, length of output
};

}  // namespace

std::unique_ptr<VariantAnalyzer> make_token_analyzer(const WvaSettings& settings,
                                                     std::vector<Variant> variants) {
  return std::make_unique<TokenAnalyzer>(settings, std::move(variants));
}

}  // namespace foretoken
