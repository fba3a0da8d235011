// The replica with the highest sum of weighted scores, each from 0 to 1, as the Kubernetes
// gateway's endpoint picker and llm-d choose: how much of the prompt is there (was sent there
// before, or is kept there by what its caches tell: llm-d's precise-prefix-cache-scorer), how
// short its queue is among all, how empty its KV cache is, how few requests it has among all. Of
// equals, one at random. A score pulls, and no threshold cuts it off: a replica with the whole
// prompt is taken until queue and cache of another are better by more than the prefix weighs.
// Weights, chunks matched and the size of the index are the picker's defaults
// (kubernetes-sigs/gateway-api-inference- extension: queue-scorer 2, kv-cache-utilization-scorer 2,
// prefix-cache-scorer 3; 256 chunks of a prompt, 31,250 of a replica).

#include <algorithm>
#include <vector>

#include "sim/serving/kept_prefixes.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/sent_prefixes.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry scored_router();

enum class PrefixKnowledge { sent, cached };
template <>
struct EnumNames<PrefixKnowledge> {
  static constexpr auto names = std::to_array<std::string_view>({"sent", "cached"});
};

namespace {

struct ScoredConfig {
  PrefixKnowledge prefixes = PrefixKnowledge::sent;
  Seconds event_delay;
  double prefix_weight = 3, queue_weight = 2, kv_weight = 2, requests_weight = 0;
  std::int64_t match_chunks_max = 256;     // of a prompt
  std::int64_t index_chunks_max = 31'250;  // of each replica
};

const Keys<ScoredConfig>& scored_keys() {
  using S = ScoredConfig;
  static const Keys<S> keys = {
      {"prefixes",
       &S::prefixes,
       {},
       "What the router knows about caches: sent (which prompts it sent where, not what was "
       "evicted) or cached (what replicas hold, from the events that their caches publish)."},
      {"event_delay",
       &S::event_delay,
       {.range = not_negative()},
       "With prefixes = \"cached\": delay of a cache event on its way to the router."},
      {"prefix_weight",
       &S::prefix_weight,
       {.range = not_negative()},
       "Weight of the share of the prompt that is cached, as far as the router knows. 0: caches do "
       "not count."},
      {"queue_weight",
       &S::queue_weight,
       {.range = not_negative()},
       "Weight of the queue that the engine reports: 1 for the shortest of all, 0 for the "
       "longest."},
      {"kv_weight",
       &S::kv_weight,
       {.range = not_negative()},
       "Weight of the share of KV blocks that are free."},
      {"requests_weight",
       &S::requests_weight,
       {.range = not_negative()},
       "Weight of the router's own outstanding requests: 1 for the fewest of all, 0 for the most. "
       "Unlike queue and cache it is never stale."},
      {"match_chunks_max",
       &S::match_chunks_max,
       {.range = at_least(1), .unit = "chunks"},
       "Prefix chunks, from a prompt's beginning, that are compared and remembered."},
      {"index_chunks_max",
       &S::index_chunks_max,
       {.range = at_least(1), .unit = "chunks"},
       "Prefix chunks sent that the router remembers for each replica; the oldest are forgotten."},
  };
  return keys;
}

/// How few of something a replica has, among all: 1 for the least, 0 for the most, 1 where all are
/// equal.
class Fewness {
 public:
  using Count = std::int64_t ReplicaStatus::*;
  Fewness(std::span<const ReplicaStatus> replicas, Count count) : count_(count) {
    const auto [least, most] = std::ranges::minmax_element(replicas, {}, count);
    most_ = (*most).*count;
    spread_ = most_ - (*least).*count;
  }
  double operator()(const ReplicaStatus& replica) const {
    if (spread_ == 0) return 1;
    return static_cast<double>(most_ - replica.*count_) / static_cast<double>(spread_);
  }

 private:
  Count count_;
  std::int64_t most_ = 0, spread_ = 0;
};

class Scored final : public Router {
 public:
  Scored(const ScoredConfig& config, const RandomStreams& random)
      : config_(config), sent_(config.index_chunks_max), random_(random.stream("router")) {}

  ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) override {
    const PrefixRuns hashes = whole_chunks(request, config_.match_chunks_max);
    std::vector<PrefixRun> prompt;
    hashes.append_to(prompt);
    const Fewness queue(replicas, &ReplicaStatus::waiting);
    const Fewness requests(replicas, &ReplicaStatus::outstanding);
    std::vector<ReplicaId> best;
    double best_score = -1;
    for (const ReplicaStatus& replica : replicas) {
      const double score = config_.prefix_weight * known_share(replica.id, hashes.size(), prompt) +
                           config_.queue_weight * queue(replica) +
                           config_.kv_weight * (1 - replica.kv_used) +
                           config_.requests_weight * requests(replica);
      if (score < best_score) continue;
      if (score > best_score) best.clear();
      best_score = score;
      best.push_back(replica.id);
    }
    const ReplicaId chosen = one_of(best);
    if (!listens()) sent_.add(chosen, prompt);
    return chosen;
  }

  void forget(ReplicaId replica) override {
    sent_.forget(replica);
    kept_.forget(replica);
  }
  [[nodiscard]] std::optional<Seconds> event_delay() const override {
    return listens() ? std::optional(config_.event_delay) : std::nullopt;
  }
  void on_prefix_kept(ReplicaId replica, std::uint64_t hash) override { kept_.keep(replica, hash); }
  void on_prefix_gone(ReplicaId replica, std::uint64_t hash) override { kept_.lose(replica, hash); }

 private:
  /// Of a prompt of so many chunks.
  [[nodiscard]] double known_share(ReplicaId replica, std::int64_t chunks,
                                   std::span<const PrefixRun> prompt) const {
    if (chunks == 0) return 0;
    const std::size_t known =
        listens() ? kept_.known(replica, prompt) : sent_.known(replica, prompt);
    return static_cast<double>(known) / static_cast<double>(chunks);
  }
  [[nodiscard]] bool listens() const { return config_.prefixes == PrefixKnowledge::cached; }

  ReplicaId one_of(const std::vector<ReplicaId>& equals) {
    if (equals.size() == 1) return equals.front();
    const double drawn = uniform(random_) * static_cast<double>(equals.size());
    return equals[static_cast<std::size_t>(drawn)];
  }

  ScoredConfig config_;
  SentPrefixes sent_;  // one of both is used
  KeptPrefixes kept_;
  RandomStream random_;
};

}  // namespace

Registry<RouterFactory>::Entry scored_router() {
  return {"scored", "the highest sum of weighted scores: prefix there, queue, KV cache, requests",
          [](TableReader& options, const RandomStreams& random) {
            ScoredConfig config;
            scored_keys().read(options, config);
            return std::make_unique<Scored>(config, random);
          },
          scored_keys().notes()};
}

}  // namespace foretoken
