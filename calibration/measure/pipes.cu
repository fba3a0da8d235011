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

// ---- wgmma: Hopper's. 64xN per warp group, operands in shared memory with 128-byte swizzle.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FORETOKEN_WGMMA 1
#endif

#define FT_D8(x)                                                                              \
  "+f"(d[x]), "+f"(d[x + 1]), "+f"(d[x + 2]), "+f"(d[x + 3]), "+f"(d[x + 4]), "+f"(d[x + 5]), \
      "+f"(d[x + 6]), "+f"(d[x + 7])
#define FT_D16(x) FT_D8(x), FT_D8(x + 8)
#define FT_D32(x) FT_D16(x), FT_D16(x + 16)
#define FT_D64(x) FT_D32(x), FT_D32(x + 32)
#define FT_P8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define FT_P16 FT_P8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define FT_P32 FT_P16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define FT_P64                                                                               \
  FT_P32                                                                                     \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53" \
  ",%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FT_P128                                                                                 \
  FT_P64                                                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85"    \
  ",%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106" \
  ",%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124"  \
  ",%125,%126,%127"
#define FT_WGMMA(shape_and_types, places, operands, scales, ...)                          \
  asm volatile("wgmma.mma_async.sync.aligned." shape_and_types " {" places "}, " operands \
               ", 1, " scales ";"                                                         \
               : __VA_ARGS__                                                              \
               : "l"(a), "l"(b))

/// One 64 x Columns product of 32 bytes of depth.
template <int Columns, bool Fp8>
__device__ void wgmma([[maybe_unused]] float (&d)[Columns / 2], [[maybe_unused]] std::uint64_t a,
                      [[maybe_unused]] std::uint64_t b) {
#ifdef FORETOKEN_WGMMA
  if constexpr (Fp8) {
    static_assert(Columns == 128);
    FT_WGMMA("m64n128k32.f32.e4m3.e4m3", FT_P64, "%64, %65", "1, 1", FT_D64(0));
  } else if constexpr (Columns == 16) {
    FT_WGMMA("m64n16k16.f32.bf16.bf16", FT_P8, "%8, %9", "1, 1, 0, 0", FT_D8(0));
  } else if constexpr (Columns == 32) {
    FT_WGMMA("m64n32k16.f32.bf16.bf16", FT_P16, "%16, %17", "1, 1, 0, 0", FT_D16(0));
  } else if constexpr (Columns == 64) {
    FT_WGMMA("m64n64k16.f32.bf16.bf16", FT_P32, "%32, %33", "1, 1, 0, 0", FT_D32(0));
  } else if constexpr (Columns == 128) {
    FT_WGMMA("m64n128k16.f32.bf16.bf16", FT_P64, "%64, %65", "1, 1, 0, 0", FT_D64(0));
  } else {
    static_assert(Columns == 256);
    FT_WGMMA("m64n256k16.f32.bf16.bf16", FT_P128, "%128, %129", "1, 1, 0, 0", FT_D64(0),
             FT_D64(64));
  }
#endif
}

constexpr int wgmma_depth_steps = 4;  // between one wait and the next

template <int Columns, bool Fp8>
__global__ void __launch_bounds__(threads) wgmma_kernel(float* out, int steps, long long* cycles) {
#ifdef FORETOKEN_WGMMA
  extern __shared__ __align__(1024) std::uint32_t shared[];
  constexpr int a_bytes = 128 * 128;  // two groups' 64 rows of 128 bytes
  for (int i = threadIdx.x; i < (a_bytes + Columns * 128) / 4; i += blockDim.x)
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
  float d[Columns / 2] = {};
  const long long start = clock64();
  for (int s = 0; s < steps; ++s) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < wgmma_depth_steps; ++k)
      wgmma<Columns, Fp8>(d, descriptor(base + group * 64 * 128 + 32 * k),
                          descriptor(base + a_bytes + 32 * k));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  const long long end = clock64();
  float sum = 0;
  for (int i = 0; i < Columns / 2; ++i) sum += d[i];
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
  explicit PipeBench(const Gpu& gpu) : gpu_(gpu) {
    const int blocks = blocks_per_sm * gpu.sm_count;
    check(cudaMalloc(&out_, sizeof(float) * blocks * threads), "allocating pipe results");
    check(cudaMalloc(&cycles_, sizeof(long long) * blocks), "allocating pipe counters");
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

  /// `ops` are those of one block and one step; `resident` blocks share an SM.
  template <typename Kernel>
  void run(const char* pipe, Kernel kernel, double ops, int steps, std::size_t shared,
           std::vector<PipeRate>& rates, int resident = blocks_per_sm) {
    const int blocks = resident * gpu_.sm_count;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared)),
          pipe);
    for (int warm = 0; warm < 2; ++warm) {
      check(cudaEventRecord(begin_, gpu_.stream), pipe);
      kernel<<<blocks, threads, shared, gpu_.stream>>>(out_, steps, cycles_);
      check(cudaEventRecord(end_, gpu_.stream), pipe);
    }
    check(cudaStreamSynchronize(gpu_.stream), pipe);
    std::vector<long long> cycles(static_cast<std::size_t>(blocks));
    check(cudaMemcpy(cycles.data(), cycles_, cycles.size() * sizeof(long long),
                     cudaMemcpyDeviceToHost),
          pipe);
    std::nth_element(cycles.begin(), cycles.begin() + blocks / 2, cycles.end());
    const auto median = static_cast<double>(cycles[static_cast<std::size_t>(blocks / 2)]);
    if (median == 0) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), pipe);
    PipeRate rate{.pipe = pipe};
    rate.ops_per_clock_per_sm = resident * ops * steps / median;
    rate.tera_ops_per_second = ops * steps * blocks / (milliseconds * 1e9);
    rate.sm_clock_mhz = median / (milliseconds * 1e3);
    rates.push_back(rate);
  }

 private:
  const Gpu& gpu_;
  float* out_ = nullptr;
  long long* cycles_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Tensor rate of warp-group products of this width; the widest needs the registers of a whole SM.
template <int Columns, bool Fp8 = false>
void run_wgmma(PipeBench& bench, const char* pipe, std::vector<PipeRate>& rates) {
  constexpr double groups = threads / 128.0, depth = Fp8 ? 32 : 16;
  constexpr int steps = Columns <= 32 ? 40000 : 20000;
  bench.run(pipe, wgmma_kernel<Columns, Fp8>,
            groups * wgmma_depth_steps * 2.0 * 64 * Columns * depth, steps,
            (128 + Columns) * 128 + 1024, rates, Columns == 256 ? 1 : blocks_per_sm);
}

}  // namespace

std::vector<PipeRate> measure_pipes(const Gpu& gpu) {
  constexpr double warps = threads / 32.0;
  std::vector<PipeRate> rates;
  PipeBench bench(gpu);
  if (gpu.compute_major >= 8)
    bench.run("mma_sync_bf16", mma_sync_kernel<MmaSyncBf16>,
              warps * MmaSyncBf16::chains * MmaSyncBf16::ops_per_warp, 40000, 0, rates);
  if (gpu.compute_major == 9) {
    run_wgmma<128>(bench, "wgmma_bf16", rates);
    run_wgmma<16>(bench, "wgmma_bf16_n16", rates);
    run_wgmma<32>(bench, "wgmma_bf16_n32", rates);
    run_wgmma<64>(bench, "wgmma_bf16_n64", rates);
    run_wgmma<256>(bench, "wgmma_bf16_n256", rates);
    run_wgmma<128, true>(bench, "wgmma_e4m3", rates);
  }
  bench.run("fma_f32", fma_kernel, threads * 16 * 2.0, 60000, 0, rates);
  bench.run("ex2", ex2_kernel, threads * 16.0, 10000, 0, rates);
  return rates;
}

}  // namespace foretoken::measure
