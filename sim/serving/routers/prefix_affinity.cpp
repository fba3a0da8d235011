// The replica that probably has most of the prompt in its prefix cache. The router cannot look into
// the caches: it keeps an index of its own for each replica, of the prefix chunks it sent there,
// the `index_chunks_max` used last. An even load comes first: where the busiest replica has more
// than `balance_abs` requests more than the idlest and more than `balance_rel` times as many, and
// where no index knows `match_min` of the prompt, the request goes to the idlest. The scheme is
// that of SGLang's cache-aware router, whose thresholds are 64, 1.5 and 0.3 (sgl-router, 2025),
// with chunks of the workload's hashes instead of a tree of text.

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "sim/serving/router.hpp"
#include "sim/serving/sent_prefixes.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry prefix_affinity_router();

namespace {

struct PrefixAffinityConfig {
  std::int64_t index_chunks_max = 65'536;  // of each replica
  std::int64_t balance_abs = 64;           // requests
  double balance_rel = 1.5;
  double match_min = 0.3;  // of the prompt's whole chunks
};

const Keys<PrefixAffinityConfig>& prefix_affinity_keys() {
  using S = PrefixAffinityConfig;
  static const Keys<S> keys = {
      {"index_chunks_max",
       &S::index_chunks_max,
       {.range = at_least(1), .unit = "chunks"},
       "Prefix chunks that the router remembers for each replica; the oldest are forgotten."},
      {"balance_abs",
       &S::balance_abs,
       {.range = not_negative(), .unit = "requests"},
       "Lead of the most over the least loaded replica, in requests, beyond which the router "
       "balances load instead of matching prefixes, if balance_rel is exceeded too."},
      {"balance_rel", &S::balance_rel, {.range = at_least(1)}, "The same lead as a ratio."},
      {"match_min",
       &S::match_min,
       {.range = between(0, 1, "is a share of the prompt: from 0 to 1")},
       "Share of a prompt that a replica must have seen to be chosen for it; below it, the least "
       "loaded one is chosen."},
  };
  return keys;
}

PrefixAffinityConfig read_prefix_affinity(TableReader& table) {
  PrefixAffinityConfig config;
  prefix_affinity_keys().read(table, config);
  return config;
}

class PrefixAffinity final : public Router {
 public:
  explicit PrefixAffinity(const PrefixAffinityConfig& config)
      : config_(config), sent_(config.index_chunks_max) {}

  ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) override {
    prompt_.clear();
    whole_chunks(request, std::numeric_limits<std::int64_t>::max()).append_to(prompt_);
    const auto [idlest, busiest] =
        std::ranges::minmax_element(replicas, {}, &ReplicaStatus::outstanding);
    ReplicaId chosen = idlest->id;
    if (!prompt_.empty() && is_balanced(idlest->outstanding, busiest->outstanding))
      chosen = best_match(prompt_, replicas).value_or(chosen);
    sent_.add(chosen, prompt_);
    return chosen;
  }

  [[nodiscard]] bool sees_engines() const override { return false; }
  void forget(ReplicaId replica) override { sent_.forget(replica); }

 private:
  [[nodiscard]] bool is_balanced(std::int64_t least, std::int64_t most) const {
    return most - least <= config_.balance_abs ||
           static_cast<double>(most) <= config_.balance_rel * static_cast<double>(least);
  }

  /// The replica that knows most; among equals the one with the fewest requests.
  [[nodiscard]] std::optional<ReplicaId> best_match(std::span<const PrefixRun> prompt,
                                                    std::span<const ReplicaStatus> replicas) const {
    const ReplicaStatus* best = nullptr;
    std::size_t best_known = 0;
    const auto improves = [&](const ReplicaStatus& replica, std::size_t known) {
      return best == nullptr || is_better(replica, known, *best, best_known);
    };
    sent_.visit_parts(
        prompt, [&](std::size_t begin, std::size_t end, std::span<const std::uint32_t> those) {
          for (const std::uint32_t id : those) {
            const auto replica =
                std::ranges::lower_bound(replicas, ReplicaId{id}, {}, &ReplicaStatus::id);
            if (replica == replicas.end() || replica->id.value != id) continue;
            // All have the instructions that everybody's prompts begin with: most of them are
            // busier.
            if (!improves(*replica, end)) continue;
            const std::size_t known = sent_.known(replica->id, prompt);
            if (known == 0 || !improves(*replica, known)) continue;
            best = &*replica;
            best_known = known;
          }
          return best_known > begin;
        });
    std::int64_t chunks = 0;
    for (const PrefixRun& run : prompt) chunks += run.count;
    const double enough = config_.match_min * static_cast<double>(chunks);
    if (best == nullptr || static_cast<double>(best_known) < enough) return std::nullopt;
    return best->id;
  }

  static bool is_better(const ReplicaStatus& replica, std::size_t known, const ReplicaStatus& best,
                        std::size_t best_known) {
    return std::tuple(known, -replica.outstanding, best.id) >
           std::tuple(best_known, -best.outstanding, replica.id);
  }

  PrefixAffinityConfig config_;
  SentPrefixes sent_;
  std::vector<PrefixRun> prompt_;  // scratch
};

}  // namespace

Registry<RouterFactory>::Entry prefix_affinity_router() {
  return {"prefix_affinity", "the replica that was already sent most of the prompt's prefix",
          [](TableReader& options, const RandomStreams&) {
            return std::make_unique<PrefixAffinity>(read_prefix_affinity(options));
          },
          prefix_affinity_keys().notes()};
}

}  // namespace foretoken
