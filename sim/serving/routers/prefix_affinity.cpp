// The replica that probably has most of the prompt in its prefix cache. The router cannot look into
// the caches: it keeps an index of its own for each replica, of the prefix chunks it sent there,
// the `index_chunks_max` used last. An even load comes first: where the busiest replica has more
// than `balance_abs` requests more than the idlest and more than `balance_rel` times as many, and
// where no index knows `match_min` of the prompt, the request goes to the idlest. The scheme is
// that of SGLang's cache-aware router, whose thresholds are 64, 1.5 and 0.3 (sgl-router, 2025),
// with chunks of the workload's hashes instead of a tree of text.

#include <algorithm>
#include <tuple>
#include <unordered_map>

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
       "Lead of the fullest replica over the emptiest, in requests, from which on load is balanced "
       "instead of prefixes matched, if balance_rel is exceeded too."},
      {"balance_rel", &S::balance_rel, {.range = at_least(1)}, "The same lead as a ratio."},
      {"match_min",
       &S::match_min,
       {.range = between(0, 1, "is a share of the prompt: from 0 to 1")},
       "Share of a prompt that a replica must have seen to be chosen for it; below, the emptiest "
       "one is taken."},
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
    const std::span<const std::uint64_t> hashes = whole_chunks(request);
    const auto [idlest, busiest] =
        std::ranges::minmax_element(replicas, {}, &ReplicaStatus::outstanding);
    ReplicaId chosen = idlest->id;
    if (!hashes.empty() && is_balanced(idlest->outstanding, busiest->outstanding)) {
      chosen = best_match(hashes, replicas, at_last(request, hashes, replicas)).value_or(chosen);
    }
    sent_.add(chosen, hashes);
    remember(request, chosen);
    return chosen;
  }

  void forget(ReplicaId replica) override { sent_.forget(replica); }

 private:
  [[nodiscard]] bool is_balanced(std::int64_t least, std::int64_t most) const {
    return most - least <= config_.balance_abs ||
           static_cast<double>(most) <= config_.balance_rel * static_cast<double>(least);
  }

  struct Known {
    std::optional<ReplicaId> replica;
    std::size_t chunks = 0;
  };

  /// What the replica knows of the prompt that the session's last request went to, if it is one of
  /// these. Changes no choice: it spares looking through those that cannot know as much.
  [[nodiscard]] Known at_last(const Request& request, std::span<const std::uint64_t> hashes,
                              std::span<const ReplicaStatus> replicas) const {
    if (!request.session) return {};
    const auto last = last_of_session_.find(*request.session);
    if (last == last_of_session_.end() ||
        std::ranges::find(replicas, last->second, &ReplicaStatus::id) == replicas.end()) {
      return {};
    }
    return {last->second, sent_.known(last->second, hashes)};
  }

  void remember(const Request& request, ReplicaId chosen) {
    if (!request.session) return;
    if (last_of_session_.size() >= sessions_max) last_of_session_.clear();
    last_of_session_.insert_or_assign(*request.session, chosen);
  }

  /// The replica that knows most; among equals the one with the fewest requests. `last`: what one
  /// of them knows, where that is known.
  [[nodiscard]] std::optional<ReplicaId> best_match(std::span<const std::uint64_t> hashes,
                                                    std::span<const ReplicaStatus> replicas,
                                                    const Known& last) const {
    std::optional<ReplicaId> best;
    std::tuple<std::size_t, std::int64_t> best_rank;
    for (const ReplicaStatus& replica : replicas) {
      // To be better it must know more than the best, or as much with fewer requests: one look
      // tells most that they do not.
      const auto [best_known, best_room] = best_rank;
      const std::size_t more = best && -replica.outstanding <= best_room ? 1 : 0;
      const std::size_t least = std::max(last.chunks, best_known + more);
      if (least > hashes.size() || (least > 0 && !sent_.knows(replica.id, hashes[least - 1]))) {
        continue;
      }
      const std::size_t known =
          replica.id == last.replica ? last.chunks : sent_.known(replica.id, hashes);
      const std::tuple rank(known, -replica.outstanding);
      if (known == 0 || (best && rank <= best_rank)) continue;
      best = replica.id;
      best_rank = rank;
    }
    const double enough = config_.match_min * static_cast<double>(hashes.size());
    if (best && static_cast<double>(std::get<0>(best_rank)) < enough) return std::nullopt;
    return best;
  }

  static constexpr std::size_t sessions_max = 1'000'000;

  PrefixAffinityConfig config_;
  SentPrefixes sent_;
  std::unordered_map<std::uint64_t, ReplicaId> last_of_session_;
};

}  // namespace

Registry<RouterFactory>::Entry prefix_affinity_router() {
  return {"prefix_affinity", "the replica that was sent most of the prompt's prefix before",
          [](TableReader& options, const RandomStreams&) {
            return std::make_unique<PrefixAffinity>(read_prefix_affinity(options));
          },
          prefix_affinity_keys().notes()};
}

}  // namespace foretoken
