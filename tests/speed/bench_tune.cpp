// What a round of each policy costs at a pool of 1,000 kernels, choosing and learning (aim: under
// 1 ms), centroids found anew now and then included.
#include <benchmark/benchmark.h>

#include <cmath>

#include "calibration/tune/comparison.hpp"

namespace foretoken::tune {
namespace {

PoolEntry entry_of(RandomStream& random) {
  PoolEntry entry;
  entry.time = 0.2 + uniform(random);
  for (double& value : entry.profile) value = 100 * uniform(random);
  for (double& value : entry.runtime) value = uniform(random);
  entry.runtime[0] = std::log(entry.time);
  return entry;
}

void TuneRound(benchmark::State& state, const std::string& name) {
  RandomStream random = RandomStreams(1).stream("bench");
  Pool pool;
  for (int k = 0; k < 1000; ++k) pool.push_back(entry_of(random));
  ArmMask available(pool.size(), {true, true, true, true, true, true});
  const auto policy = make_policy(policy_catalog(), name, {}, {1, 1000, {}});
  int round = 1;
  for (auto _ : state) {
    const auto arm = policy->choose({round, pool, available});
    policy->learn({*arm, uniform(random), true, std::nullopt}, pool);
    ++round;
    if (round % 10 == 0) {  // a child now and then, so that centroids fall due
      state.PauseTiming();
      pool.push_back(entry_of(random));
      available.push_back(available.front());
      state.ResumeTiming();
    }
  }
}
BENCHMARK_CAPTURE(TuneRound, kernelband, std::string("kernelband"));
BENCHMARK_CAPTURE(TuneRound, kernelband_v2, std::string("kernelband_v2"));
BENCHMARK_CAPTURE(TuneRound, kernelband_fastest, std::string("kernelband_fastest"));
BENCHMARK_CAPTURE(TuneRound, flat_ucb, std::string("flat_ucb"));
BENCHMARK_CAPTURE(TuneRound, beam, std::string("beam"));

}  // namespace
}  // namespace foretoken::tune
