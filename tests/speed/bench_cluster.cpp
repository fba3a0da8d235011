// What a cluster costs before anything is simulated: its wiring, what a group of its GPUs sees, and
// its links in SimGrid. 1,024 GPUs are the built-in SuperPOD's 128 nodes.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "hardware/wiring.hpp"
#include "kernels/communication/collectives.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {
namespace {

const char* const clusters[] = {"h100-sxm-8", "h100-sxm-8x128-superpod",
                                FORETOKEN_SOURCE_DIR "/examples/clusters/torus.toml",
                                FORETOKEN_SOURCE_DIR "/examples/clusters/dragonfly.toml"};

void ClusterWiring(benchmark::State& state) {
  const ClusterSpec cluster = load_cluster(clusters[state.range(0)], {});
  for (auto _ : state) {
    const Wiring wiring(cluster);
    benchmark::DoNotOptimize(wiring.link_count());
  }
  state.SetLabel(cluster.name);
}
BENCHMARK(ClusterWiring)->DenseRange(0, 3);

/// All GPUs up to 256.
void ClusterGroupLinks(benchmark::State& state) {
  const ClusterSpec cluster = load_cluster(clusters[state.range(0)], {});
  std::vector<GpuId> group;
  for (int i = 0; i < std::min(256, cluster.gpu_count()); ++i)
    group.push_back({static_cast<std::uint32_t>(i)});
  for (auto _ : state) benchmark::DoNotOptimize(group_links(cluster, group));
  state.SetLabel(cluster.name);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(group.size()));
}
BENCHMARK(ClusterGroupLinks)->DenseRange(0, 3);

/// In a child, since a process has one platform; the child says how long it took.
double seconds_to_build(const ClusterSpec& cluster) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto begin = std::chrono::steady_clock::now();
    const Platform platform(cluster);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const double seconds = taken.count();
    const bool told = write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
    _exit(told ? 0 : 1);
  }
  double seconds = -1;
  if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return seconds;
}

void ClusterPlatform(benchmark::State& state) {
  const ClusterSpec cluster = load_cluster(clusters[state.range(0)], {});
  for (auto _ : state) {
    const double seconds = seconds_to_build(cluster);
    if (seconds < 0) {
      state.SkipWithError("the child did not build its platform");
      break;
    }
    state.SetIterationTime(seconds);
  }
  state.SetLabel(cluster.name);
  state.SetItemsProcessed(state.iterations() * cluster.gpu_count());
}
BENCHMARK(ClusterPlatform)->DenseRange(0, 3)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken
