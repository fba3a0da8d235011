// Mixed batching by the priority of requests, lower numbers first (vLLM's --scheduling-policy
// priority): the queue is in order of priority and then of arrival, blocks are taken from the least
// urgent and latest sequence, and prompts share a step's tokens in order of priority once all
// decodes have theirs. With `preempts`, a request that finds no slot or no blocks displaces
// sequences of a lower class at once, not only when memory runs out.
// A class starves as long as more urgent ones take everything: that is what priorities are for.

#include "sim/serving/mixed_batching.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry priority_scheduler();

namespace {

struct PriorityConfig {
  bool preempts = true;
  MixedBatchingConfig batching;
};

const Keys<PriorityConfig>& priority_keys() {
  using S = PriorityConfig;
  static const Keys<S> keys = {
      {"preempts",
       &S::preempts,
       {},
       "Whether a waiting sequence of a higher class preempts a running one of a lower class, KV "
       "blocks included."},
  };
  return keys;
}

PriorityConfig read_priority(TableReader& table) {
  PriorityConfig config;
  priority_keys().read(table, config);
  config.batching = read_mixed_batching(table);
  return config;
}

bool goes_before(const Sequence* a, const Sequence* b) {
  if (a->priority != b->priority) return a->priority < b->priority;
  if (a->record.arrival != b->record.arrival) return a->record.arrival < b->record.arrival;
  return a->record.id < b->record.id;
}

class Priority final : public MixedBatching {
 public:
  Priority(const PriorityConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : MixedBatching(config.batching, limits, cache), config_(config) {}

  void enqueue(Sequence& sequence) override { put_back(sequence); }

 private:
  void let_run(Sequence& sequence) override {
    running_.insert(std::ranges::upper_bound(running_, &sequence, goes_before), &sequence);
  }

  void put_back(Sequence& sequence) override {
    waiting_.insert(std::ranges::upper_bound(waiting_, &sequence, goes_before), &sequence);
  }

  // running_ is in the order of goes_before too, so that its last is the first to lose its blocks.
  void fill(Batch& batch) override {
    if (config_.preempts) make_way();
    serve_decodes(batch);
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) {
      if (running_[i]->missing_tokens() <= 1) continue;
      while (may_admit() && waiting_.front()->priority < running_[i]->priority && admit(batch)) ++i;
      serve_running(i, batch);
    }
    while (may_admit() && admit(batch)) {
    }
  }

  bool admit(Batch& batch) {
    if (!admit_first(batch)) return false;
    Sequence* admitted = running_.back();
    running_.pop_back();
    let_run(*admitted);
    return true;
  }

  /// Displaces sequences of lower classes until the first that waits finds a slot and blocks for
  /// what it has to compute; nobody, if that would not be enough.
  void make_way() {
    if (waiting_.empty()) return;
    const Sequence& next = *waiting_.front();
    const std::int64_t wanted =
        preempter_.blocks_wanted(preempter_.find(next), next.tokens_with_room(next.known_tokens()));
    const auto suffices = [&](std::int64_t slots, std::int64_t blocks) {
      return slots < limits_.sequences_max && blocks >= wanted;
    };
    std::int64_t slots = running(), blocks = cache_.free();
    for (std::size_t i = running_.size(); i-- > 0 && !suffices(slots, blocks);) {
      if (!may_displace(next, *running_[i])) continue;
      --slots;
      blocks += running_[i]->blocks;
    }
    if (!suffices(slots, blocks)) return;
    for (std::size_t i = running_.size(); i-- > 0 && !suffices(running(), cache_.free());) {
      if (may_displace(next, *running_[i])) preempt(i);
    }
  }

  static bool may_displace(const Sequence& next, const Sequence& victim) {
    return victim.priority > next.priority && victim.steps_in_flight == 0;
  }

  PriorityConfig config_;
};

}  // namespace

Registry<SchedulerFactory>::Entry priority_scheduler() {
  return {"priority", "mixed batching by request priority; lower classes are preempted",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<Priority>(read_priority(options), limits, cache);
          },
          with_mixed_batching(priority_keys().notes())};
}

}  // namespace foretoken
