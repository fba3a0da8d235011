// Streaming, pointer-chasing and empty kernels, each timed with events over several launches.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

#include "memory_bench.hpp"

namespace foretoken::measure {
namespace {

constexpr int stream_threads = 1024;
constexpr int repeats = 7;

/// One SM runs one block: the dynamic shared memory leaves room for no second.
std::size_t whole_sm_shared(const void* kernel) {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "reading the device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "reading the shared memory");
  const int shared = most / 4 * 3;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "taking a whole SM");
  return static_cast<std::size_t>(shared);
}

__device__ unsigned folded(const uint4& v) { return v.x ^ v.y ^ v.z ^ v.w; }

/// Blocks stride over the range together, `rounds` times; eight loads in flight a thread.
__global__ void __launch_bounds__(stream_threads)
    read_kernel(const uint4* data, std::size_t count, int rounds, unsigned* sink) {
  constexpr int unroll = 8;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned sum = 0;
  for (int round = 0; round < rounds; ++round) {
    std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + (unroll - 1) * step < count; i += unroll * step) {
      uint4 values[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) values[u] = __ldcg(data + i + u * step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) sum ^= folded(values[u]);
    }
    for (; i < count; i += step) sum ^= folded(__ldcg(data + i));
  }
  if (sum == 0x12345678u) *sink = sum;
}

/// Every thread loads `loads` times, the blocks together walking round and round a range that is
/// at least one step of the whole grid.
__global__ void __launch_bounds__(stream_threads)
    circle_kernel(const uint4* data, unsigned count, int loads, unsigned* sink) {
  constexpr int unroll = 8;
  const unsigned step = gridDim.x * blockDim.x;
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (int i = 0; i < loads; i += unroll) {
    uint4 values[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      values[u] = __ldcg(data + at);
      at += step;
      if (at >= count) at -= count;
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum ^= folded(values[u]);
  }
  if (sum == 0x12345678u) *sink = sum;
}

__global__ void __launch_bounds__(stream_threads)
    copy_kernel(uint4* out, const uint4* in, std::size_t count) {
  constexpr int unroll = 4;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (unroll - 1) * step < count; i += unroll * step) {
    uint4 values[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) values[u] = __ldcs(in + i + u * step);
#pragma unroll
    for (int u = 0; u < unroll; ++u) __stcs(out + i + u * step, values[u]);
  }
  for (; i < count; i += step) __stcs(out + i, __ldcs(in + i));
}

__global__ void chase_kernel(const std::uint32_t* next, int steps, long long* cycles,
                             unsigned long long* nanoseconds, std::uint32_t* sink) {
  unsigned long long begin_ns, end_ns;
  std::uint32_t at = 0;
  for (int i = 0; i < 256; ++i)
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at) : "memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin_ns));
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i)
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at) : "memory");
  const long long end = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
  *cycles = end - begin;
  *nanoseconds = end_ns - begin_ns;
  *sink = at;
}

__global__ void empty_kernel() {}

/// Median event time of `launch(i)` in microseconds, after one that is not timed.
template <typename Launch>
double median_us(const Gpu& gpu, const Launch& launch) {
  cudaEvent_t events[2 * repeats];
  for (cudaEvent_t& event : events) check(cudaEventCreate(&event), "creating an event");
  launch(repeats);
  for (int r = 0; r < repeats; ++r) {
    check(cudaEventRecord(events[2 * r], gpu.stream), "recording");
    launch(r);
    check(cudaEventRecord(events[2 * r + 1], gpu.stream), "recording");
  }
  check(cudaStreamSynchronize(gpu.stream), "streaming");
  std::vector<float> times(repeats);
  for (int r = 0; r < repeats; ++r)
    check(cudaEventElapsedTime(&times[r], events[2 * r], events[2 * r + 1]), "reading the events");
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  std::sort(times.begin(), times.end());
  return times[repeats / 2] * 1000.0;
}

Bandwidth bandwidth(std::size_t bytes, int sms, double us) {
  return {.bytes = bytes,
          .sms = sms,
          .us = us,
          .gb_per_second = static_cast<double>(bytes) / (us * 1e3)};
}

unsigned* sink_of(const Buffers& buffers) { return reinterpret_cast<unsigned*>(buffers.output); }

/// A different piece of the arena for each launch, so far apart that L2 keeps none of it.
const std::byte* fresh(const Gpu& gpu, const Buffers& all, std::size_t bytes, int launch) {
  const std::size_t apart = std::max(bytes, 3 * gpu.l2_bytes) / 1024 * 1024 + 1024;
  return all.input + apart * static_cast<std::size_t>(launch);
}

}  // namespace

Bandwidth dram_read(const Gpu& gpu, Arena& arena, std::size_t bytes, int sms) {
  const Buffers all = arena.buffers({.input_bytes = 1024, .output_bytes = 1024}, 0);
  const std::size_t shared = whole_sm_shared(reinterpret_cast<const void*>(read_kernel));
  const double us = median_us(gpu, [&](int launch) {
    // Only this kernel is timed; sweeping is unnecessary, since every launch reads new memory.
    read_kernel<<<sms, stream_threads, shared, gpu.stream>>>(
        reinterpret_cast<const uint4*>(fresh(gpu, all, bytes, launch)), bytes / 16, 1,
        sink_of(all));
  });
  return bandwidth(bytes, sms, us);
}

Bandwidth dram_copy(const Gpu& gpu, Arena& arena, std::size_t bytes) {
  const Buffers all = arena.buffers({.input_bytes = 1024, .output_bytes = 1024}, 0);
  const double us = median_us(gpu, [&](int launch) {
    const std::size_t offset =
        static_cast<std::size_t>(fresh(gpu, all, bytes / 2, launch) - all.input);
    copy_kernel<<<2 * gpu.sm_count, stream_threads, 0, gpu.stream>>>(
        reinterpret_cast<uint4*>(all.output + offset),
        reinterpret_cast<const uint4*>(all.input + offset), bytes / 2 / 16);
  });
  return bandwidth(bytes, gpu.sm_count, us);
}

Bandwidth l2_read(const Gpu& gpu, Arena& arena, std::size_t range, int sms) {
  const Buffers all = arena.buffers({.input_bytes = 1024, .output_bytes = 1024}, 0);
  const std::size_t shared = whole_sm_shared(reinterpret_cast<const void*>(circle_kernel));
  constexpr int loads = 1024;  // a thread: 16 MiB an SM, long against the launch
  const double us = median_us(gpu, [&](int) {
    circle_kernel<<<sms, stream_threads, shared, gpu.stream>>>(
        reinterpret_cast<const uint4*>(all.input), static_cast<unsigned>(range / 16), loads,
        sink_of(all));
  });
  return bandwidth(std::size_t{16} * loads * stream_threads * static_cast<std::size_t>(sms), sms,
                   us);
}

Latency load_latency(const Gpu& gpu, Arena& arena, std::size_t range) {
  constexpr std::size_t line = 128;  // one hop to a cache line
  constexpr int steps = 4096;
  const Buffers all = arena.buffers({.input_bytes = 1024, .output_bytes = 1024}, 0);
  const std::size_t lines = range / line;
  std::vector<std::uint32_t> order(lines), next(lines * line / 4, 0);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(1);
  for (std::size_t i = lines; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (std::size_t i = 0; i < lines; ++i)
    next[order[i] * line / 4] = order[(i + 1) % lines] * static_cast<std::uint32_t>(line / 4);
  check(cudaMemcpy(all.output, next.data(), range, cudaMemcpyHostToDevice), "copying the chain");
  read_kernel<<<gpu.sm_count, stream_threads, 0, gpu.stream>>>(
      reinterpret_cast<const uint4*>(all.output), range / 16, 1,
      reinterpret_cast<unsigned*>(all.output + range));
  long long* counters = nullptr;
  check(cudaMallocHost(&counters, 3 * sizeof(long long)), "allocating counters");
  chase_kernel<<<1, 1, 0, gpu.stream>>>(reinterpret_cast<const std::uint32_t*>(all.output), steps,
                                        counters,
                                        reinterpret_cast<unsigned long long*>(counters + 1),
                                        reinterpret_cast<std::uint32_t*>(counters + 2));
  check(cudaStreamSynchronize(gpu.stream), "chasing pointers");
  const Latency latency{.bytes = range,
                        .cycles = static_cast<double>(counters[0]) / steps,
                        .ns = static_cast<double>(counters[1]) / steps};
  cudaFreeHost(counters);
  return latency;
}

LaunchFloor launch_floor(const Gpu& gpu, int grid, int block) {
  const auto graph_us = [&](int kernels) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int i = 0; i < kernels; ++i) empty_kernel<<<grid, block, 0, gpu.stream>>>();
    check(cudaStreamEndCapture(gpu.stream, &graph), "ending the capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiating the graph");
    const double us = median_us(
        gpu, [&](int) { check(cudaGraphLaunch(executable, gpu.stream), "launching the graph"); });
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    return us;
  };
  constexpr int many = 257;
  LaunchFloor floor{.grid = grid, .block = block};
  floor.first_us = graph_us(1);
  floor.next_us = (graph_us(many) - floor.first_us) / (many - 1);
  return floor;
}

}  // namespace foretoken::measure
