// The timing loop: sweep L2 with clean lines, replay a graph of K launches, read two events; the
// SM clock comes from one SM's cycle counter against the global nanosecond timer.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "stopwatch.hpp"

namespace foretoken::measure {

struct Stamp {
  long long cycles;
  unsigned long long nanoseconds;
  unsigned sm;
};

namespace {

constexpr int repeats_max = 15, repeats_min = 7;
constexpr int launches_max = 64;
constexpr double graph_us = 200;       // aim: long against the ~2 us before a graph's first kernel
constexpr double repeats_us = 8000;    // aim for all repeats of one shape
constexpr double sweep_us = 60;        // 3 x L2 at a few TB/s
constexpr double warm_limit_us = 100;  // beyond it, data exceeds L2 and warm means nothing
constexpr int warm_repeats = 5;
constexpr double sustained_from_us = 100;  // shorter ones are bound by memory or latency
constexpr int sustained_repeats = 5;
constexpr std::chrono::milliseconds rest(8);  // in which the clock comes back after a hot kernel
constexpr int settle_batch = 4;               // graphs between two looks at the time

__global__ void stamp(Stamp* out) {
  unsigned long long now;
  unsigned sm;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  *out = {clock64(), now, sm};
}

__global__ void empty() {}

__global__ void read_all(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned sum = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 value = __ldcg(data + i);
    sum ^= value.x ^ value.y ^ value.z ^ value.w;
  }
  if (sum == 0x12345678u) *sink = sum;  // never, but the compiler cannot know
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double at = p * (static_cast<double>(values.size()) - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

Stopwatch::Stopwatch(const Gpu& gpu, Arena& arena, double settle_ms)
    : gpu_(gpu),
      arena_(arena),
      sweep_bytes_(3 * gpu.l2_bytes / 16 * 16),
      settle_us_(1000 * settle_ms) {
  check(cudaMalloc(&sweep_buffer_, sweep_bytes_ + 16), "allocating the L2 sweep");
  check(cudaMemset(sweep_buffer_, 0x5a, sweep_bytes_ + 16), "clearing the L2 sweep");
  check(cudaMallocHost(&stamps_, 2 * sizeof(Stamp)), "allocating the clock stamps");
  events_.resize(2 * repeats_max);
  for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "creating an event");
  graph_head_us_ = measure_graph_head();
}

Stopwatch::~Stopwatch() {
  cudaFree(sweep_buffer_);
  cudaFreeHost(stamps_);
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

void Stopwatch::sweep_l2() {
  read_all<<<8 * gpu_.sm_count, 256, 0, gpu_.stream>>>(
      reinterpret_cast<const uint4*>(sweep_buffer_), sweep_bytes_ / 16,
      reinterpret_cast<unsigned*>(sweep_buffer_ + sweep_bytes_));
}

cudaGraph_t Stopwatch::capture(const Footprint& footprint, const Launch& launch, int launches,
                               bool rotate) {
  check(cudaStreamBeginCapture(gpu_.stream, cudaStreamCaptureModeThreadLocal), "capturing");
  cudaGraph_t graph = nullptr;
  try {
    for (int i = 0; i < launches; ++i)
      launch(arena_.buffers(footprint, rotate ? i : 0), gpu_.stream);
  } catch (...) {
    cudaStreamEndCapture(gpu_.stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(gpu_.stream, &graph), "ending the capture");
  return graph;
}

std::vector<double> Stopwatch::replay(cudaGraph_t graph, int launches, int repeats, bool sweep,
                                      double settle_us) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "instantiating the graph");
  check(cudaGraphLaunch(executable, gpu_.stream), "launching the graph");
  for (double spent_us = 0; spent_us < settle_us;) {
    check(cudaEventRecord(events_[0], gpu_.stream), "recording");
    for (int i = 0; i < settle_batch; ++i)
      check(cudaGraphLaunch(executable, gpu_.stream), "launching the graph");
    check(cudaEventRecord(events_[1], gpu_.stream), "recording");
    check(cudaStreamSynchronize(gpu_.stream), "settling the clock");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "reading the events");
    spent_us += 1000.0 * milliseconds;
  }
  if (sweep) stamp<<<1, 1, 0, gpu_.stream>>>(stamps_);
  for (int r = 0; r < repeats; ++r) {
    const auto at = static_cast<std::size_t>(2 * r);
    if (sweep) sweep_l2();
    check(cudaEventRecord(events_[at], gpu_.stream), "recording");
    check(cudaGraphLaunch(executable, gpu_.stream), "launching the graph");
    check(cudaEventRecord(events_[at + 1], gpu_.stream), "recording");
  }
  if (sweep) stamp<<<1, 1, 0, gpu_.stream>>>(stamps_ + 1);
  const cudaError_t status = cudaStreamSynchronize(gpu_.stream);
  cudaGraphExecDestroy(executable);
  check(status, "replaying the graph");
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) {
    float milliseconds = 0;
    const auto at = static_cast<std::size_t>(2 * r);
    check(cudaEventElapsedTime(&milliseconds, events_[at], events_[at + 1]), "reading the events");
    times.push_back((milliseconds * 1000.0 - graph_head_us_) / launches);
  }
  return times;
}

double Stopwatch::measure_graph_head() {
  constexpr int many = 33;
  const auto median_us = [&](int kernels) {
    const Launch launch = [](const Buffers&, cudaStream_t stream) {
      empty<<<1, 32, 0, stream>>>();
    };
    cudaGraph_t graph = capture({}, launch, kernels, false);
    const double us = percentile(replay(graph, 1, repeats_max, false, 0), 0.5);
    cudaGraphDestroy(graph);
    return us;
  };
  const double one_us = median_us(1), next_us = (median_us(many) - one_us) / (many - 1);
  return one_us - next_us;
}

double Stopwatch::stamped_clock_mhz() const {
  if (stamps_[0].sm != stamps_[1].sm) return 0;  // two counters cannot be compared
  return static_cast<double>(stamps_[1].cycles - stamps_[0].cycles) * 1000.0 /
         static_cast<double>(stamps_[1].nanoseconds - stamps_[0].nanoseconds);
}

Timing Stopwatch::measure(const Footprint& footprint, const Launch& launch) {
  const int room = arena_.capacity(footprint);
  if (room < 1) throw std::runtime_error("this shape has no room in the GPU's memory");
  arena_.draw_indices(footprint, std::min(room, launches_max));
  launch(arena_.buffers(footprint, 0), gpu_.stream);  // loads the kernel, plans the product
  check(cudaStreamSynchronize(gpu_.stream), "first launch");
  Timing timing;
  cudaGraph_t graph = capture(footprint, launch, 1, false);
  timing.identity = identify(graph);
  const double guess_us = std::max(0.5, percentile(replay(graph, 1, 3, false, 0), 0.5));
  cudaGraphDestroy(graph);
  timing.launches =
      std::clamp(static_cast<int>(std::ceil(graph_us / guess_us)), 1, std::min(launches_max, room));
  timing.repeats =
      std::clamp(static_cast<int>(repeats_us / (timing.launches * guess_us + sweep_us)),
                 repeats_min, repeats_max);

  graph = capture(footprint, launch, timing.launches, true);
  std::this_thread::sleep_for(rest);
  const std::vector<double> cold = replay(graph, timing.launches, timing.repeats, true, 0);
  timing.time_us = percentile(cold, 0.5);
  timing.p10_us = percentile(cold, 0.1);
  timing.p90_us = percentile(cold, 0.9);
  timing.sm_clock_mhz = stamped_clock_mhz();
  cudaGraphDestroy(graph);
  if (timing.time_us < warm_limit_us) {
    graph = capture(footprint, launch, timing.launches, false);
    timing.warm_us = percentile(replay(graph, timing.launches, warm_repeats, false, 0), 0.5);
    cudaGraphDestroy(graph);
  }
  return timing;
}

void Stopwatch::sustain(const Footprint& footprint, const Launch& launch, Timing& timing) {
  if (timing.time_us < sustained_from_us || settle_us_ <= 0) return;
  arena_.draw_indices(footprint, timing.launches);
  cudaGraph_t graph = capture(footprint, launch, timing.launches, true);
  timing.sustained_us =
      percentile(replay(graph, timing.launches, sustained_repeats, true, settle_us_), 0.5);
  timing.sustained_clock_mhz = stamped_clock_mhz();
  cudaGraphDestroy(graph);
}

LaunchIdentity Stopwatch::launch_once(const Footprint& footprint, const Launch& launch) {
  if (arena_.capacity(footprint) < 1) throw std::runtime_error("no room in the GPU's memory");
  arena_.draw_indices(footprint, 1);
  launch(arena_.buffers(footprint, 0), gpu_.stream);  // loads the kernel
  check(cudaStreamSynchronize(gpu_.stream), "first launch");
  cudaGraph_t graph = capture(footprint, launch, 1, false);
  LaunchIdentity identity = identify(graph);
  cudaGraphDestroy(graph);
  check(cudaProfilerStart(), "starting the profiler");
  launch(arena_.buffers(footprint, 0), gpu_.stream);
  check(cudaStreamSynchronize(gpu_.stream), "launching once");
  check(cudaProfilerStop(), "stopping the profiler");
  return identity;
}

}  // namespace foretoken::measure
