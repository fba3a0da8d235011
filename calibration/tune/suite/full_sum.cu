//! summary = "sum of all elements, fp32; partial sums and a second launch, or atomic additions"
//! level = 1
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 2e-3
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [64, 128, 256, 512], start = 256},
//!   {name = "BLOCKS", strategy = "tiling", values = [1, 2, 8], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "METHOD", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f32", count = "n", fill = "uniform"},
//!   {name = "partial", type = "f32", count = "2048", role = "scratch"},
//!   {name = "total", type = "f32", count = "1", role = "output", scale = "0.01 * sqrt(n)"},
//! ]
//! launches = [
//!   {kernel = "clear", when = "FUSED", grid = ["1"], block = ["32"], arguments = ["total"]},
//!   {kernel = "fused", when = "FUSED", grid = ["SMS * BLOCKS"], block = ["BLOCK"], arguments = ["x", "total", "n"]},
//!   {kernel = "partial_sums", when = "!FUSED", grid = ["SMS * BLOCKS"], block = ["BLOCK"], arguments = ["x", "partial", "n"]},
//!   {kernel = "finish", when = "!FUSED", grid = ["1"], block = ["BLOCK"], arguments = ["partial", "total", "SMS * BLOCKS"]},
//! ]
//! reference = [{kernel = "reference", grid = ["1"], block = ["1024"], arguments = ["x", "total", "n"]}]
//! cost = {flops = "n", bytes = "4 * n", cache_bytes = "4 * n", pipe = "fma"}
__device__ __forceinline__ float part(const float* __restrict__ x, int n) {
  float lanes[VEC] = {};
  float rest = 0.0f;
  cover<BLOCK, VEC, ITEMS, 1, 0>(
      n,
      [&](int i) {
        const auto a = load<HINT, float, VEC>(x + i);
#pragma unroll
        for (int e = 0; e < VEC; ++e) lanes[e] += a.at[e];
      },
      [&](int i) { rest += x[i]; });
#pragma unroll
  for (int e = 0; e < VEC; ++e) rest += lanes[e];
  return group_reduce<Sum, BLOCK, 1, METHOD>(rest);
}
#if FUSED
extern "C" __global__ void clear(float* total) {
  if (threadIdx.x == 0) *total = 0.0f;
}
extern "C" __global__ void __launch_bounds__(BLOCK) fused(const float* x, float* total, int n) {
  const float sum = part(x, n);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK)
    partial_sums(const float* x, float* partial, int n) {
  const float sum = part(x, n);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(BLOCK)
    finish(const float* partial, float* total, int parts) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < parts; i += BLOCK) sum += partial[i];
  sum = group_reduce<Sum, BLOCK, 1, METHOD>(sum);
  if (threadIdx.x == 0) *total = sum;
}
#endif

extern "C" __global__ void reference(const float* x, float* total, int n) {
  __shared__ double partial[1024];
  double sum = 0.0;
  for (int i = threadIdx.x; i < n; i += 1024) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0.0;
  for (int i = 0; i < 1024; ++i) sum += partial[i];
  *total = (float)sum;
}
