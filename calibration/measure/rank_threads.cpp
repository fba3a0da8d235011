// Threads of ranks, and peer access between their GPUs.
#include "rank_threads.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

namespace foretoken::measure {

void run_ranks(const std::vector<Gpu>& gpus, int ranks, const std::function<void(Rank&)>& work) {
  std::barrier<> meet(ranks);
  std::vector<std::thread> threads;
  for (int index = 0; index < ranks; ++index) {
    threads.emplace_back([&, index] {
      try {
        check(cudaSetDevice(index), "choosing a rank's GPU");
        Rank rank{index, gpus[static_cast<std::size_t>(index)].stream, &meet};
        work(rank);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "foretoken-measure-comm: rank %d: %s\n", index, error.what());
        std::_Exit(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

bool enable_peer_access(int gpus) {
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      int can = 1;
      if (from != to) check(cudaDeviceCanAccessPeer(&can, from, to), "asking for peer access");
      if (can == 0) return false;
    }
  }
  for (int from = 0; from < gpus; ++from) {
    check(cudaSetDevice(from), "choosing a GPU");
    for (int to = 0; to < gpus; ++to) {
      if (from != to) check(cudaDeviceEnablePeerAccess(to, 0), "enabling peer access");
    }
  }
  return true;
}

}  // namespace foretoken::measure
