// Mixed batching as in vllm_v1, but tenants share: of those that wait, the tenant that was served
// least comes first, and of its requests the first (Virtual Token Counter, Sheng et al., Fairness
// in Serving Large Language Models, OSDI 2024, Algorithm 2). A counter a tenant takes
// `input_weight` for each token of a prompt that is let in and `output_weight` for each token that
// is drawn, both over the tenant's weight. Who had nothing waiting is lifted to those who had when
// it comes back: an idle tenant saves nothing up. Two tenants that always have something waiting
// thus never differ by more than a batch holds. What is preempted is not charged again.

#include <map>
#include <unordered_map>

#include "sim/serving/mixed_batching.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry vtc_scheduler();

namespace {

struct VtcConfig {
  double input_weight = 1.0, output_weight = 2.0;
  MixedBatchingConfig batching;
};

const Keys<VtcConfig>& vtc_keys() {
  using S = VtcConfig;
  static const Keys<S> keys = {
      {"input_weight",
       &S::input_weight,
       {.range = not_negative()},
       "Cost of a prompt token to its tenant. 1 and 2 are the paper's."},
      {"output_weight",
       &S::output_weight,
       {.range = not_negative()},
       "Cost of an output token to its tenant."},
  };
  return keys;
}

VtcConfig read_vtc(TableReader& table) {
  VtcConfig config;
  vtc_keys().read(table, config);
  config.batching = read_mixed_batching(table);
  return config;
}

class Vtc final : public MixedBatching {
 public:
  Vtc(const VtcConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : MixedBatching(config.batching, limits, cache), config_(config) {}

  void enqueue(Sequence& sequence) override {
    if (tenants_[sequence.tenant].waiting == 0) {
      charge_running();  // levels are those after the last step
      lift(tenants_[sequence.tenant]);
    }
    wait(sequence);
    waiting_.push_back(&sequence);
  }

 private:
  struct Tenant {
    double counter = 0.0;
    std::int64_t waiting = 0;  // sequences
  };
  /// What the tenant of a sequence has paid for it.
  struct Paid {
    bool is_waiting = false, has_prompt = false;
    std::int64_t output = 0;  // tokens
  };

  void put_back(Sequence& sequence) override {
    wait(sequence);
    waiting_.push_front(&sequence);
  }

  void fill(Batch& batch) override {
    charge_running();
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) serve_running(i, batch);
    while (may_admit()) {
      bring_least_served_to_front();
      if (!admit_first(batch)) return;
      const Sequence& admitted = *running_.back();
      leave(admitted);
      charge_prompt(admitted);
    }
  }

  void forget(Sequence& sequence) override {
    if (paid_.contains(&sequence)) charge_output(sequence);
    leave(sequence);
    paid_.erase(&sequence);
  }

  void wait(const Sequence& sequence) {
    paid_[&sequence].is_waiting = true;
    ++tenants_[sequence.tenant].waiting;
  }

  void leave(const Sequence& sequence) {
    if (!std::exchange(paid_[&sequence].is_waiting, false)) return;
    if (--tenants_[sequence.tenant].waiting == 0) last_to_leave_ = sequence.tenant;
  }

  /// The least served of those with something waiting; the first by number among equals. Null: none
  /// has.
  [[nodiscard]] const std::pair<const int, Tenant>* least_served() const {
    const std::pair<const int, Tenant>* least = nullptr;
    for (const auto& one : tenants_) {
      const bool is_less = least == nullptr || one.second.counter < least->second.counter;
      if (one.second.waiting > 0 && is_less) least = &one;
    }
    return least;
  }

  void lift(Tenant& tenant) {
    const auto* least = least_served();
    const Tenant& level = least != nullptr ? least->second : tenants_[last_to_leave_];
    tenant.counter = std::max(tenant.counter, level.counter);
  }

  void bring_least_served_to_front() {
    const auto chosen = std::ranges::find(waiting_, least_served()->first, &Sequence::tenant);
    Sequence* sequence = *chosen;
    waiting_.erase(chosen);
    waiting_.push_front(sequence);
  }

  void charge_prompt(const Sequence& sequence) {
    if (std::exchange(paid_[&sequence].has_prompt, true)) return;
    charge(sequence, config_.input_weight * static_cast<double>(sequence.prompt_tokens));
  }

  void charge_running() {
    for (const Sequence* sequence : running_) charge_output(*sequence);
  }

  /// What was drawn since the last time.
  void charge_output(const Sequence& sequence) {
    std::int64_t& paid = paid_[&sequence].output;
    const std::int64_t drawn = sequence.produced - std::exchange(paid, sequence.produced);
    charge(sequence, config_.output_weight * static_cast<double>(drawn));
  }

  void charge(const Sequence& sequence, double tokens) {
    tenants_[sequence.tenant].counter += tokens / sequence.tenant_weight;
  }

  VtcConfig config_;
  std::map<int, Tenant> tenants_;
  int last_to_leave_ = 0;                           // of those that wait
  std::unordered_map<const Sequence*, Paid> paid_;  // looked up, never walked
};

}  // namespace

Registry<SchedulerFactory>::Entry vtc_scheduler() {
  return {"vtc",
          "mixed batching, fair to tenants: the least served tenant's requests are admitted first",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<Vtc>(read_vtc(options), limits, cache);
          },
          with_mixed_batching(vtc_keys().notes())};
}

}  // namespace foretoken
