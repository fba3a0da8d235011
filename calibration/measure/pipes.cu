// Each kernel loops over one instruction on registers (or, for wgmma, on shared memory), with
// enough independent chains to hide its latency. Clock counters give operations per clock.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pipes.hpp"

namespace foretoken::measure {
namespace {

constexpr int threads = 256;  // two warp groups
constexpr int blocks_per_sm = 2;

__device__ std::uint32_t random_bf16_pair(std::uint32_t seed) {  // two values in ±[1, 2)
  const std::uint32_t x = (seed + 1) * 2654435761u;
  return ((x & 0x807f807fu) | 0x3f803f80u);
}

[[maybe_unused]] __device__ std::uint32_t random_e4m3_quad(
    std::uint32_t seed) {  // four values in ±[1, 2)
  const std::uint32_t x = (seed + 1) * 2654435761u;
  return ((x & 0x87878787u) | 0x38383838u);
}

// ---- mma.sync: the tensor instruction of Ampere, which Hopper still executes.
struct MmaSyncBf16 {
  static constexpr double ops_per_warp = 2.0 * 16 * 8 * 16;
  static constexpr int chains = 8;
  __device__ static void step(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

template <typename Mma>
__global__ void mma_sync_kernel(float* out, int steps, long long* cycles) {
  float d[Mma::chains][4] = {};
  std::uint32_t a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = random_bf16_pair(threadIdx.x * 7 + i);
  for (int i = 0; i < 2; ++i) b[i] = random_bf16_pair(threadIdx.x * 13 + i);
  const long long start = clock64();
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int c = 0; c < Mma::chains; ++c) Mma::step(d[c], a, b);
  const long long end = clock64();
  float sum = 0;
  for (int c = 0; c < Mma::chains; ++c) sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
}

// ---- wgmma: Hopper's. 64x128 per warp group, operands in shared memory with 128-byte swizzle.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FORETOKEN_WGMMA 1
#endif

#define FT_D8(x)                                                                              \
  "+f"(d[x]), "+f"(d[x + 1]), "+f"(d[x + 2]), "+f"(d[x + 3]), "+f"(d[x + 4]), "+f"(d[x + 5]), \
      "+f"(d[x + 6]), "+f"(d[x + 7])
#define FT_WGMMA(shape_and_types, scales)                                                     \
  asm volatile("wgmma.mma_async.sync.aligned." shape_and_types                                \
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20," \
               "%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39," \
               "%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58," \
               "%59,%60,%61,%62,%63}, %64, %65, 1, " scales ";"                               \
               : FT_D8(0), FT_D8(8), FT_D8(16), FT_D8(24), FT_D8(32), FT_D8(40), FT_D8(48),   \
                 FT_D8(56)                                                                    \
               : "l"(a), "l"(b))

template <bool Fp8>
__global__ void __launch_bounds__(threads) wgmma_kernel(float* out, int steps, long long* cycles) {
#ifdef FORETOKEN_WGMMA
  extern __shared__ __align__(1024) std::uint32_t shared[];
  constexpr int tile_bytes = 128 * 128;  // 128 rows of 128 bytes
  for (int i = threadIdx.x; i < 3 * tile_bytes / 4; i += blockDim.x)
    shared[i] = Fp8 ? random_e4m3_quad(i) : random_bf16_pair(i);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const auto descriptor = [](std::uint32_t address) {
    // start address, leading offset 16 B (unused when swizzled), stride 1024 B, 128-byte swizzle
    return static_cast<std::uint64_t>((address & 0x3ffff) >> 4) | (std::uint64_t{1} << 16) |
           (std::uint64_t{1024 >> 4} << 32) | (std::uint64_t{1} << 62);
  };
  const std::uint32_t group = threadIdx.x / 128;
  float d[64] = {};
  const long long start = clock64();
  for (int s = 0; s < steps; ++s) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::uint64_t a = descriptor(base + group * 64 * 128 + 32 * k);
      const std::uint64_t b = descriptor(base + tile_bytes + 32 * k);
      if constexpr (Fp8)
        FT_WGMMA("m64n128k32.f32.e4m3.e4m3", "1, 1");
      else
        FT_WGMMA("m64n128k16.f32.bf16.bf16", "1, 1, 0, 0");
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  const long long end = clock64();
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += d[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
#else
  (void)out, (void)steps;
  if (threadIdx.x == 0) cycles[blockIdx.x] = 0;  // this build or GPU has no wgmma
#endif
}

// ---- CUDA cores.
__global__ void fma_kernel(float* out, int steps, long long* cycles) {
  float d[16];
  for (int c = 0; c < 16; ++c) d[c] = 1.0f + threadIdx.x * 1e-3f + c * 1e-2f;
  const float factor = 0.999f + threadIdx.x * 1e-7f, term = 1e-3f;
  const long long start = clock64();
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int c = 0; c < 16; ++c) d[c] = fmaf(d[c], factor, term);
  const long long end = clock64();
  float sum = 0;
  for (int c = 0; c < 16; ++c) sum += d[c];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
}

__global__ void ex2_kernel(float* out, int steps, long long* cycles) {
  float d[16];
  for (int c = 0; c < 16; ++c) d[c] = threadIdx.x * 1e-3f + c * 1e-2f;
  const long long start = clock64();
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int c = 0; c < 16; ++c) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(d[c]));
  const long long end = clock64();
  float sum = 0;
  for (int c = 0; c < 16; ++c) sum += d[c];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
}

class PipeBench {
 public:
  explicit PipeBench(const Gpu& gpu) : gpu_(gpu), blocks_(blocks_per_sm * gpu.sm_count) {
    check(cudaMalloc(&out_, sizeof(float) * blocks_ * threads), "allocating pipe results");
    check(cudaMalloc(&cycles_, sizeof(long long) * blocks_), "allocating pipe counters");
    check(cudaEventCreate(&begin_), "creating an event");
    check(cudaEventCreate(&end_), "creating an event");
  }
  ~PipeBench() {
    cudaFree(out_);
    cudaFree(cycles_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  PipeBench(const PipeBench&) = delete;
  PipeBench& operator=(const PipeBench&) = delete;

  /// `ops` are those of one block and one step.
  template <typename Kernel>
  void run(const char* pipe, Kernel kernel, double ops, int steps, std::size_t shared,
           std::vector<PipeRate>& rates) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared)),
          pipe);
    for (int warm = 0; warm < 2; ++warm) {
      check(cudaEventRecord(begin_, gpu_.stream), pipe);
      kernel<<<blocks_, threads, shared, gpu_.stream>>>(out_, steps, cycles_);
      check(cudaEventRecord(end_, gpu_.stream), pipe);
    }
    check(cudaStreamSynchronize(gpu_.stream), pipe);
    std::vector<long long> cycles(static_cast<std::size_t>(blocks_));
    check(cudaMemcpy(cycles.data(), cycles_, cycles.size() * sizeof(long long),
                     cudaMemcpyDeviceToHost),
          pipe);
    std::nth_element(cycles.begin(), cycles.begin() + blocks_ / 2, cycles.end());
    const auto median = static_cast<double>(cycles[static_cast<std::size_t>(blocks_ / 2)]);
    if (median == 0) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), pipe);
    PipeRate rate{.pipe = pipe};
    rate.ops_per_clock_per_sm = blocks_per_sm * ops * steps / median;
    rate.tera_ops_per_second = ops * steps * blocks_ / (milliseconds * 1e9);
    rate.sm_clock_mhz = median / (milliseconds * 1e3);
    rates.push_back(rate);
  }

 private:
  const Gpu& gpu_;
  int blocks_;
  float* out_ = nullptr;
  long long* cycles_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::vector<PipeRate> measure_pipes(const Gpu& gpu) {
  constexpr double warps = threads / 32.0, groups = threads / 128.0;
  constexpr std::size_t wgmma_shared = 3 * 128 * 128 + 1024;
  std::vector<PipeRate> rates;
  PipeBench bench(gpu);
  if (gpu.compute_major >= 8)
    bench.run("mma_sync_bf16", mma_sync_kernel<MmaSyncBf16>,
              warps * MmaSyncBf16::chains * MmaSyncBf16::ops_per_warp, 40000, 0, rates);
  if (gpu.compute_major == 9) {
    bench.run("wgmma_bf16", wgmma_kernel<false>, groups * 4 * 2.0 * 64 * 128 * 16, 20000,
              wgmma_shared, rates);
    bench.run("wgmma_e4m3", wgmma_kernel<true>, groups * 4 * 2.0 * 64 * 128 * 32, 20000,
              wgmma_shared, rates);
  }
  bench.run("fma_f32", fma_kernel, threads * 16 * 2.0, 60000, 0, rates);
  bench.run("ex2", ex2_kernel, threads * 16.0, 10000, 0, rates);
  return rates;
}

}  // namespace foretoken::measure
