// A chain is timed by two events on each rank's stream. Before a graph the stream first spins for a
// while, so that the graph is enqueued before the chain begins and no host gap is in the time.
#include <algorithm>
#include <cmath>

#include "comm_stopwatch.hpp"

namespace foretoken::measure {
namespace {

constexpr int calls_min = 2, calls_max = 40;
constexpr int repeats_min = 5, repeats_max = 21;
constexpr double chain_us = 1500;     // aim: long against the ~2 us before a graph's first kernel
constexpr double repeats_us = 24000;  // aim for all repeats of one point
constexpr int warm_up_calls = 2, warm_up_repeats = 2, guess_repeats = 3, guess_calls = 4;
constexpr unsigned long long spin_ns = 300000;  // the host needs some 10 us to enqueue a graph

__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double at = p * (static_cast<double>(values.size()) - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

/// A chain of calls that a rank can put on its stream again and again.
class Chain {
 public:
  Chain(const CommCall& call, const Rank& rank, const CommBuffers& buffers, std::size_t bytes,
        int calls, bool in_graph)
      : call_(call), rank_(rank), buffers_(buffers), bytes_(bytes), calls_(calls) {
    if (!in_graph) return;
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal), "capturing");
    enqueue_calls();
    check(cudaStreamEndCapture(rank.stream, &graph), "ending the capture");
    check(cudaGraphInstantiate(&executable_, graph, 0), "instantiating the graph");
    check(cudaGraphDestroy(graph), "dropping the captured graph");
    check(cudaGraphUpload(executable_, rank.stream), "uploading the graph");
    check(cudaStreamSynchronize(rank.stream), "uploading the graph");
  }
  ~Chain() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  void enqueue() {
    if (executable_ != nullptr)
      check(cudaGraphLaunch(executable_, rank_.stream), "launching the graph");
    else
      enqueue_calls();
  }
  [[nodiscard]] bool is_graph() const { return executable_ != nullptr; }

 private:
  void enqueue_calls() {
    for (int i = 0; i < calls_; ++i) call_.launch(rank_, buffers_, bytes_);
  }

  const CommCall& call_;
  const Rank& rank_;
  const CommBuffers& buffers_;
  std::size_t bytes_;
  int calls_;
  cudaGraphExec_t executable_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording"); }
  [[nodiscard]] double us_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading the events");
    return 1000.0 * milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

CommStopwatch::CommStopwatch(const std::vector<Gpu>& gpus, const NcclGroup& group,
                             const std::vector<CommBuffers>& buffers)
    : gpus_(gpus), group_(group), buffers_(buffers) {}

CommTiming CommStopwatch::measure(const CommCall& call, std::size_t bytes, bool in_graph) const {
  const std::size_t ranks = buffers_.size();
  // us of every repeat's chain, a rank; the ranks' threads write their own.
  std::vector<std::vector<double>> times(ranks);
  CommTiming timing;
  const auto slowest = [&] {
    std::vector<double> result = times[0];
    for (const auto& of_rank : times) {
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], of_rank[i]);
    }
    return result;
  };
  run_ranks(gpus_, static_cast<int>(ranks), [&](Rank& rank) {
    const auto self = static_cast<std::size_t>(rank.index);
    const CommBuffers& buffers = buffers_[self];
    Event start, stop;
    const auto time_chain = [&](int calls, int repeats, int warm_up) {
      Chain chain(call, rank, buffers, bytes, calls, in_graph);
      times[self].clear();
      for (int repeat = -warm_up; repeat < repeats; ++repeat) {
        rank.meet->arrive_and_wait();
        if (chain.is_graph()) spin<<<1, 1, 0, rank.stream>>>(spin_ns);
        group_.align(rank, buffers);
        start.record(rank.stream);
        chain.enqueue();
        stop.record(rank.stream);
        check(cudaStreamSynchronize(rank.stream), "running the chain");
        if (repeat >= 0) times[self].push_back(stop.us_since(start));
      }
      rank.meet->arrive_and_wait();
    };
    // NCCL connects the ranks at the first call of a kind, which it had better not do in a capture.
    for (int i = 0; i < warm_up_calls; ++i) call.launch(rank, buffers, bytes);
    check(cudaStreamSynchronize(rank.stream), "first calls");
    time_chain(guess_calls, guess_repeats, 1);
    if (rank.index == 0) {
      const double guess_us = std::max(1.0, percentile(slowest(), 0.5) / guess_calls);
      timing.calls =
          std::clamp(static_cast<int>(std::ceil(chain_us / guess_us)), calls_min, calls_max);
      timing.repeats =
          std::clamp(static_cast<int>(repeats_us / (timing.calls * guess_us + 1e-3 * spin_ns)),
                     repeats_min, repeats_max);
    }
    rank.meet->arrive_and_wait();
    time_chain(timing.calls, timing.repeats, warm_up_repeats);
  });
  std::vector<double> per_call = slowest();
  for (double& us : per_call) us /= timing.calls;
  timing.time_us = percentile(per_call, 0.5);
  timing.p10_us = percentile(per_call, 0.1);
  timing.p90_us = percentile(per_call, 0.9);
  return timing;
}

}  // namespace foretoken::measure
