// Router prefix_affinity against looking through every replica for the whole prompt.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/toml.hpp"
#include "sim/serving/router.hpp"

namespace foretoken::prefix_affinity_test {
namespace {

class Plain {
 public:
  explicit Plain(std::size_t replicas) : sent_(replicas) {}

  ReplicaId choose(const Request& request, const std::vector<ReplicaStatus>& replicas) {
    const ReplicaStatus* best = &replicas.front();
    std::size_t most = 0;
    for (const ReplicaStatus& replica : replicas) {
      const std::size_t known = known_by(replica.id, request);
      const bool is_idler = replica.outstanding < best->outstanding;
      if (known > most || (known == most && is_idler)) best = &replica;
      most = std::max(most, known);
    }
    constexpr double match_min = 0.3;
    if (static_cast<double>(most) < match_min * static_cast<double>(request.prefix_hashes.size())) {
      best = &*std::ranges::min_element(replicas, {}, &ReplicaStatus::outstanding);
    }
    sent_[best->id.value].insert(request.prefix_hashes.begin(), request.prefix_hashes.end());
    return best->id;
  }
  void forget(ReplicaId replica) { sent_[replica.value].clear(); }

 private:
  [[nodiscard]] std::size_t known_by(ReplicaId replica, const Request& request) const {
    std::size_t known = 0;
    for (const std::uint64_t hash : request.prefix_hashes) {
      if (!sent_[replica.value].contains(hash)) break;
      ++known;
    }
    return known;
  }

  std::vector<std::set<std::uint64_t>> sent_;
};

// Sessions that grow, are cut and begin alike, on replicas that come, go and forget.
TEST(PrefixAffinity, ChoosesAsLookingEverywhereDoes) {
  constexpr std::size_t replicas = 7, sessions = 12;
  Diagnostics diagnostics;
  const Value table = parse_toml("balance_abs = 1000000", "options");
  TableReader options(table, diagnostics, "deployment");
  const auto router = router_catalog().find("prefix_affinity", {}).make(options, RandomStreams(1));
  diagnostics.throw_if_any();
  Plain plain(replicas);
  RandomStream random = RandomStreams(5).stream("requests");
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::vector<std::vector<std::uint64_t>> contexts(sessions, {1, 2, 3});
  std::uint64_t fresh = 100;
  int moved = 0;
  std::vector<ReplicaId> last(sessions);
  for (int i = 0; i < 4000; ++i) {
    const std::size_t session = below(sessions);
    std::vector<std::uint64_t>& context = contexts[session];
    if (context.size() > 20 || below(15) == 0) context.resize(3);
    for (std::uint64_t more = below(4); more > 0; --more) context.push_back(++fresh);
    Request request;
    request.prompt_tokens = 16 * std::ssize(context);
    request.prefix_block_tokens = 16;
    request.prefix_hashes = context;
    if (session % 3 != 0) request.session = session;
    std::vector<ReplicaStatus> there;
    for (std::uint32_t id = 0; id < replicas; ++id) {
      if (below(6) != 0 || id == 0) {
        there.push_back({{id}, static_cast<std::int64_t>(below(4))});
      }
    }
    const ReplicaId chosen = router->choose(request, there);
    ASSERT_EQ(chosen, plain.choose(request, there)) << "request " << i;
    moved += chosen != last[session];
    last[session] = chosen;
    if (below(40) == 0) {
      const ReplicaId lost{static_cast<std::uint32_t>(below(replicas))};
      router->forget(lost);
      plain.forget(lost);
    }
  }
  EXPECT_GT(moved, 100);
  EXPECT_LT(moved, 3000);
}

}  // namespace
}  // namespace foretoken::prefix_affinity_test
