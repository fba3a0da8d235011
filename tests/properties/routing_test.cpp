// What routers do over a whole run, checked by a second, plain account of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

/// Prefix affinity written a second time, without bounds, from the dates in a finished run: who was
/// busy with what when each request came, and what had been sent where.
class AffinityReference {
 public:
  AffinityReference(std::size_t replicas, double match_min, std::int64_t balance_abs,
                    double balance_rel)
      : sent_(replicas),
        match_min_(match_min),
        balance_abs_(balance_abs),
        balance_rel_(balance_rel) {}

  std::uint32_t choose(const std::vector<std::uint64_t>& hashes,
                       const std::vector<std::int64_t>& busy) {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < busy.size(); ++i) {
      if (busy[i] < busy[chosen]) chosen = i;
    }
    const std::int64_t least = busy[chosen], most = *std::max_element(busy.begin(), busy.end());
    const bool is_uneven = most - least > balance_abs_ &&
                           static_cast<double>(most) > balance_rel_ * static_cast<double>(least);
    std::size_t best = 0, best_known = 0;
    for (std::size_t i = 0; i < busy.size(); ++i) {
      std::size_t known = 0;
      while (known < hashes.size() && sent_[i].contains(hashes[known])) ++known;
      if (known > best_known || (known == best_known && known > 0 && busy[i] < busy[best])) {
        best = i;
        best_known = known;
      }
    }
    const bool is_enough = best_known > 0 && static_cast<double>(best_known) >=
                                                 match_min_ * static_cast<double>(hashes.size());
    if (!is_uneven && is_enough) chosen = best;
    sent_[chosen].insert(hashes.begin(), hashes.end());
    return static_cast<std::uint32_t>(chosen);
  }

 private:
  std::vector<std::set<std::uint64_t>> sent_;
  double match_min_;
  std::int64_t balance_abs_;
  double balance_rel_;
};

constexpr const char* recorded_conversations = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "l40s-4"
[deployment]
replicas = 4
router = "prefix_affinity"
match_min = 0.4
balance_abs = 1
balance_rel = 1.5
[engine]
batch_tokens_max = 100000
[workload]
trace = "examples/traces/conversations.jsonl"
prefix_block_tokens = 64
rate_scale = 2
)";

std::vector<std::uint64_t> whole_chunks(const Request& request) {
  std::vector<std::uint64_t> hashes(request.prefix_hashes.begin(), request.prefix_hashes.end());
  hashes.resize(static_cast<std::size_t>(request.prompt_tokens / request.prefix_block_tokens));
  return hashes;
}

std::vector<Request> all_requests(const Scenario& scenario) {
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  std::vector<Request> requests;
  while (auto request = source->next()) requests.push_back(*std::move(request));
  return requests;
}

TEST(RoutingProperties, PrefixAffinityRoutesEveryRequestAsAPlainReferenceDoes) {
  Value root = parse_toml(recorded_conversations, "scenario.toml");
  const Scenario scenario = read_scenario(root, {FORETOKEN_SOURCE_DIR});
  const std::vector<Request> requests = all_requests(scenario);
  const Report report = run_scenario(scenario, Catalogs());
  ASSERT_EQ(report.rows.size(), requests.size());

  AffinityReference reference(4, 0.4, 1, 1.5);
  std::vector<std::set<std::uint64_t>> caches(4);
  std::int64_t asked = 0, found = 0;
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<std::int64_t> busy(4);
    for (std::size_t before = 0; before < i; ++before) {
      if (*report.rows[before].finished_s > report.rows[i].arrival_s) {
        ++busy[report.rows[before].replica];
      }
    }
    const std::vector<std::uint64_t> hashes = whole_chunks(requests[i]);
    const std::uint32_t chosen = report.rows[i].replica;
    ASSERT_EQ(reference.choose(hashes, busy), chosen) << "request " << i;
    used.insert(chosen);
    // Nothing is evicted and no prompt is cut, so a replica finds what was ever sent to it.
    asked += requests[i].prompt_tokens;
    const auto findable = static_cast<std::size_t>((requests[i].prompt_tokens - 1) / 64);
    for (std::size_t chunk = 0; chunk < std::min(findable, hashes.size()); ++chunk) {
      if (!caches[chosen].contains(hashes[chunk])) break;
      found += 64;
    }
    caches[chosen].insert(hashes.begin(), hashes.end());
  }
  EXPECT_EQ(used.size(), 4U);
  EXPECT_NEAR(*report.kv.prefix_hit_rate, static_cast<double>(found) / static_cast<double>(asked),
              1e-12);
}

// Written a second time, as above: the replica taken has the highest score, of all that have it.
TEST(RoutingProperties, ScoredTakesTheHighestScoreOfAPlainReference) {
  Value root = parse_toml(recorded_conversations, "scenario.toml");
  apply_changes(root, {Change::parse("deployment={replicas=4, router=\"scored\", prefix_weight=3, "
                                     "queue_weight=0, kv_weight=0, requests_weight=2}")});
  const Scenario scenario = read_scenario(root, {FORETOKEN_SOURCE_DIR});
  const std::vector<Request> requests = all_requests(scenario);
  const Report report = run_scenario(scenario, Catalogs());
  std::vector<std::set<std::uint64_t>> sent(4);
  std::int64_t followed = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<double> busy(4);
    for (std::size_t before = 0; before < i; ++before) {
      if (*report.rows[before].finished_s > report.rows[i].arrival_s)
        ++busy[report.rows[before].replica];
    }
    const auto [least, most] = std::ranges::minmax(busy);
    const std::vector<std::uint64_t> hashes = whole_chunks(requests[i]);
    std::vector<double> scores(4);
    for (std::size_t replica = 0; replica < 4; ++replica) {
      const auto unknown =
          std::ranges::find_if(hashes, [&](auto hash) { return !sent[replica].contains(hash); });
      if (!hashes.empty()) {
        scores[replica] +=
            3 * static_cast<double>(unknown - hashes.begin()) / static_cast<double>(hashes.size());
      }
      scores[replica] += 2 * (most == least ? 1 : (most - busy[replica]) / (most - least));
    }
    const std::uint32_t chosen = report.rows[i].replica;
    ASSERT_NEAR(scores[chosen], std::ranges::max(scores), 1e-12) << "request " << i;
    followed += busy[chosen] > least ? 1 : 0;
    sent[chosen].insert(hashes.begin(), hashes.end());
  }
  EXPECT_GT(followed, 0) << "no request went where more was to do, for its prefix";
}

TEST(RoutingProperties, PrefixAffinityFindsMoreThanTakingTurns) {
  Value root = parse_toml(recorded_conversations, "scenario.toml");
  apply_changes(root, {Change::parse("deployment.balance_abs=8")});
  const Scenario scenario = read_scenario(root, {FORETOKEN_SOURCE_DIR});
  // What turns would find is counted without a run: request i goes to replica i modulo 4.
  std::vector<std::set<std::uint64_t>> caches(4);
  std::int64_t asked = 0, found = 0;
  const std::vector<Request> requests = all_requests(scenario);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    asked += requests[i].prompt_tokens;
    std::set<std::uint64_t>& cache = caches[i % 4];
    const std::vector<std::uint64_t> hashes = whole_chunks(requests[i]);
    const auto hits =
        std::ranges::find_if(hashes, [&](auto hash) { return !cache.contains(hash); });
    found += 64 * (hits - hashes.begin());
    cache.insert(hashes.begin(), hashes.end());
  }
  const double by_turns = static_cast<double>(found) / static_cast<double>(asked);
  const Report report = run_scenario(scenario, Catalogs());
  EXPECT_GT(*report.kv.prefix_hit_rate, by_turns + 0.1) << by_turns;
}

}  // namespace
}  // namespace foretoken
