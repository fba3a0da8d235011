// Policies in environments whose arms are known: "random", "greedy", "flat_ucb", "beam",
// "best_of_n", "kernelband", "kernelband_v2" and their variants.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "calibration/tune/clusters.hpp"
#include "calibration/tune/comparison.hpp"
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

PoolEntry entry_with(double time, double x) {
  PoolEntry entry;
  entry.time = time;
  entry.runtime[0] = x;
  entry.runtime[5] = -x;
  entry.profile[profile_dram] = 50;
  return entry;
}

/// Three groups of kernels that lie apart, `each` of them.
Pool grouped_pool(int each) {
  Pool pool;
  for (int i = 0; i < 3 * each; ++i) pool.push_back(entry_with(1, 10.0 * (i % 3) + 0.01 * i));
  return pool;
}

ArmMask all_of(const Pool& pool) {
  return ArmMask(pool.size(), {true, true, true, true, true, true});
}

std::unique_ptr<Policy> policy(const std::string& name, std::uint64_t seed,
                               const Value& options = {}) {
  return make_policy(policy_catalog(), name, options, {seed, 100, {}});
}

/// Rewards of an arm: its group's mean for the strategy, 0 or 1.
double mean_of(int kernel, Strategy strategy) {
  const int group = kernel % 3, s = static_cast<int>(strategy);
  return s == group ? 0.8 : 0.2 + 0.02 * s;
}

/// Regret after each round of 0-or-1 rewards.
std::vector<double> regrets(const std::string& name, std::uint64_t seed, int rounds) {
  const Pool pool = grouped_pool(10);
  const ArmMask available = all_of(pool);
  const auto player = policy(name, seed);
  RandomStream random = RandomStreams(seed).stream("environment");
  double regret = 0;
  std::vector<double> curve;
  for (int round = 1; round <= rounds; ++round) {
    const auto arm = player->choose({round, pool, available});
    const double mean = mean_of(arm->kernel, arm->strategy);
    const bool hit = uniform(random) < mean;
    regret += 0.8 - mean;
    curve.push_back(regret);
    player->learn({*arm, hit ? 1.0 : 0.0, hit, std::nullopt}, pool);
  }
  return curve;
}

TEST(Policies, AreAllInTheCatalog) {
  std::set<std::string> names;
  const PolicyRegistry catalog = policy_catalog();
  for (const auto& entry : catalog.entries()) names.insert(entry.name);
  for (const char* name :
       {"kernelband", "kernelband_v2", "random", "greedy", "epsilon_greedy", "flat_ucb", "beam",
        "best_of_n", "kernelband_no_prior", "kernelband_no_clusters", "kernelband_v2_no_mask"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Policies, ChooseOnlyWhatThereIsAndRepeatThemselves) {
  const PolicyRegistry catalog = policy_catalog();
  for (const auto& entry : catalog.entries()) {
    std::vector<std::vector<Arm>> runs;
    for (int run = 0; run < 2; ++run) {
      const auto player = policy(entry.name, 7);
      Pool pool{entry_with(1, 0)};
      RandomStream random = RandomStreams(3).stream("holes");
      std::vector<Arm>& chosen = runs.emplace_back();
      for (int round = 1; round <= 60; ++round) {
        ArmMask available(pool.size());
        for (auto& arms : available) {
          for (bool& can : arms) can = uniform(random) < 0.4;
        }
        available[0][2] = true;
        const auto arm = player->choose({round, pool, available});
        ASSERT_TRUE(arm) << entry.name;
        ASSERT_TRUE(available[static_cast<std::size_t>(arm->kernel)]
                             [static_cast<std::size_t>(arm->strategy)])
            << entry.name;
        const double time = 0.5 + uniform(random);
        pool.push_back(entry_with(time, uniform(random)));
        player->learn({*arm, std::max(0.0, 1 - time), time < 1, static_cast<int>(pool.size()) - 1},
                      pool);
        chosen.push_back(*arm);
      }
      const ArmMask nothing(pool.size());
      EXPECT_FALSE(player->choose({61, pool, nothing})) << entry.name;
    }
    EXPECT_EQ(runs[0], runs[1]) << entry.name;
  }
}

TEST(Policies, RefuseOptionsTheyDoNotKnow) {
  try {
    policy("kernelband", 1, ValueObject{{"lamda", 0.3}});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'lambda'?"));
  }
}

TEST(Greedy, TakesTheFastestByWhatEarnedMost) {
  const auto player = policy("greedy", 1);
  const Pool pool{entry_with(1, 0), entry_with(0.5, 0), entry_with(0.8, 0)};
  ArmMask available(3);
  available[0] = available[2] = {true, true, true, true, true, true};
  available[1] = {true, false, false, true, false, false};
  player->learn({{0, Strategy::tiling}, 0.1, true, 1}, pool);
  player->learn({{0, Strategy::pipeline}, 0.4, true, 2}, pool);
  EXPECT_EQ(player->choose({3, pool, available}), (Arm{1, Strategy::pipeline}));
}

TEST(Beam, ChangesTheFastestByEveryStrategyBeforeItLooksAgain) {
  const auto player = policy("beam", 1, ValueObject{{"width", 1}});
  Pool pool{entry_with(1, 0)};
  std::set<Strategy> seen;
  for (int round = 1; round <= 6; ++round) {
    const auto arm = player->choose({round, pool, all_of(pool)});
    EXPECT_EQ(arm->kernel, 0);
    seen.insert(arm->strategy);
    pool.push_back(entry_with(round == 2 ? 0.5 : 1.5, 0));
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(player->choose({7, pool, all_of(pool)})->kernel, 2) << "the child of round 2";
}

TEST(KernelBand, ScoresAsEquationElevenSays) {
  // One cluster, two strategies left: pulled twice for 0.5 together, and four times for 2.0. With
  // the optimistic start of one pull at 1/2: (0.5 + 0.5) / 3 + sqrt(2 ln 7 / 3) = 1.472 against
  // (2.0 + 0.5) / 5 + sqrt(2 ln 7 / 5) = 1.382. The prior says 1/2 of both.
  const auto player = policy("kernelband", 1);
  const Pool pool{entry_with(1, 0)};
  ArmMask available(1);
  available[0] = {true, true, false, false, false, false};
  const auto pull = [&](Strategy strategy, double reward) {
    player->choose({1, pool, available});
    player->learn({{0, strategy}, reward, reward > 0, std::nullopt}, pool);
  };
  for (const double reward : {0.5, 0.0}) pull(Strategy::tiling, reward);
  for (const double reward : {0.5, 0.5, 0.5, 0.5}) pull(Strategy::vectorization, reward);
  EXPECT_EQ(player->choose({7, pool, available})->strategy, Strategy::tiling);
  // Without the bound the mean alone decides: 0.333 against 0.5.
  const auto keen = policy("kernelband", 1, ValueObject{{"exploration", 0.0}});
  keen->choose({1, pool, available});
  for (const double reward : {0.5, 0.0}) {
    keen->learn({{0, Strategy::tiling}, reward, reward > 0, std::nullopt}, pool);
  }
  for (int i = 0; i < 4; ++i) {
    keen->learn({{0, Strategy::vectorization}, 0.5, true, std::nullopt}, pool);
  }
  EXPECT_EQ(keen->choose({7, pool, available})->strategy, Strategy::vectorization);
}

TEST(KernelBand, WarmsUpOnEveryStrategyOfEveryCluster) {
  const Pool pool = grouped_pool(4);
  const auto player = policy("kernelband", 1, ValueObject{{"warm_up", true}});
  std::set<std::pair<int, Strategy>> pulled;
  for (int round = 1; round <= 18; ++round) {
    const auto arm = player->choose({round, pool, all_of(pool)});
    pulled.insert({arm->kernel % 3, arm->strategy});
    player->learn({*arm, round == 1 ? 1.0 : 0.0, false, std::nullopt}, pool);
  }
  EXPECT_EQ(pulled.size(), 18U);
}

TEST(KernelBandV2, MasksWhatIsSaturated) {
  PoolEntry busy = entry_with(1, 0);
  busy.profile[profile_dram] = 95;  // vectorization, fusion and access layout aim at DRAM
  busy.profile[profile_l2] = 90;    // tiling at L2
  busy.profile[profile_sm] = 10;
  const Pool pool{busy};
  const auto player = policy("kernelband_v2", 1);
  for (int round = 1; round <= 30; ++round) {
    const auto arm = player->choose({round, pool, all_of(pool)});
    EXPECT_TRUE(arm->strategy == Strategy::pipeline || arm->strategy == Strategy::reordering);
    player->learn({*arm, 0, false, std::nullopt}, pool);
  }
}

TEST(Clusters, RecoverGroupsThatLieApart) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<RuntimeFeatures> points;
    for (const PoolEntry& entry : grouped_pool(12)) points.push_back(entry.runtime);
    IncrementalClusters clusters({});
    RandomStream random = RandomStreams(seed).stream("clusters");
    EXPECT_TRUE(clusters.update(points, 1, random));
    ASSERT_EQ(clusters.count(), 3);
    for (std::size_t i = 3; i < points.size(); ++i) {
      EXPECT_EQ(clusters.assignment()[i], clusters.assignment()[i % 3]) << "seed " << seed;
    }
    EXPECT_EQ(std::set<int>(clusters.assignment().begin(), clusters.assignment().end()).size(), 3U);
  }
}

TEST(Clusters, KeepTheirNumbersWhenFoundAnew) {
  std::vector<RuntimeFeatures> points;
  for (const PoolEntry& entry : grouped_pool(6)) points.push_back(entry.runtime);
  IncrementalClusters clusters({});
  RandomStream random = RandomStreams(5).stream("clusters");
  clusters.update(points, 1, random);
  const std::vector<int> before = clusters.assignment();
  for (int refresh = 1; refresh <= 10; ++refresh) {
    points.push_back(points[static_cast<std::size_t>(refresh)]);
    EXPECT_FALSE(clusters.update(points, 10 * refresh - 5, random)) << "not due yet";
    points.push_back(points[static_cast<std::size_t>(refresh + 1)]);
    clusters.update(points, 10 * refresh + 1, random);
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(clusters.assignment()[i], before[i]) << "refresh " << refresh;
    }
  }
}

TEST(Clusters, AreAsManyAsThereAreDifferentKernels) {
  const std::vector<RuntimeFeatures> same(5);
  IncrementalClusters clusters({});
  RandomStream random = RandomStreams(1).stream("clusters");
  clusters.update(same, 1, random);
  EXPECT_EQ(clusters.count(), 1);
}

/// Slope of ln regret against ln round over the last nine tenths of the rounds, by seed.
std::vector<double> slopes(const std::string& name) {
  std::vector<double> found;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    constexpr int rounds = 4000;
    const std::vector<double> curve = regrets(name, seed, rounds);
    found.push_back((std::log(curve[rounds - 1]) - std::log(curve[rounds / 10 - 1])) /
                    std::log(10.0));
  }
  return found;
}

TEST(Regret, GrowsSlowerThanTheRoundsWhereArmsAreKnown) {
  for (const char* name : {"kernelband", "kernelband_v2"}) {
    const Interval slope = interval_of(slopes(name));
    EXPECT_LT(slope.high, 0.7) << name << ": " << slope.low << " to " << slope.high;
    EXPECT_GT(slope.low, 0.0) << name;
  }
  const Interval blind = interval_of(slopes("random"));
  EXPECT_GT(blind.low, 0.95) << "who does not learn loses as much each round";
}

TEST(Regret, IsLessWhereClustersShareWhatTheyLearn) {
  double shared = 0, flat = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    shared += regrets("kernelband", seed, 1000).back();
    flat += regrets("flat_ucb", seed, 1000).back();
  }
  EXPECT_LT(shared, 0.5 * flat) << "18 arms against 180";
}

}  // namespace
}  // namespace foretoken::tune
