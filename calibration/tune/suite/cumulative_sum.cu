//! summary = "running sums along each row of fp32; a block a row, chunks one after another"
//! level = 2
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [1024, 8192], [256, 32768]]
//! tolerance = 2e-3
//! parameters = [
//!   {name = "THREADS", strategy = "tiling", values = [32, 64, 128, 256, 512], start = 128},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4], start = 1},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "METHOD", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 1, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f32", count = "rows * columns", fill = "uniform"},
//!   {name = "y", type = "f32", count = "rows * columns", role = "output", scale = "0.05 * sqrt(columns)"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["rows"], block = ["THREADS"], arguments = ["x", "y", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["rows"], block = ["32"], arguments = ["x", "y", "columns"]}]
//! cost = {flops = "2 * rows * columns", bytes = "8 * rows * columns", cache_bytes = "8 * rows * columns", pipe = "fma"}
// The sum over the threads before this one, and over all of them.
__device__ __forceinline__ float before(float mine, float& all) {
#if METHOD == 0
  __shared__ float sums[2][THREADS];
  int from = 0;
  __syncthreads();
  sums[0][threadIdx.x] = mine;
  __syncthreads();
#pragma unroll
  for (int offset = 1; offset < THREADS; offset *= 2) {
    float v = sums[from][threadIdx.x];
    if ((int)threadIdx.x >= offset) v += sums[from][threadIdx.x - offset];
    sums[1 - from][threadIdx.x] = v;
    from = 1 - from;
    __syncthreads();
  }
  all = sums[from][THREADS - 1];
  return sums[from][threadIdx.x] - mine;
#else
  __shared__ float sums[THREADS / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = mine;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float other = __shfl_up_sync(0xffffffffu, v, offset);
    if (lane >= offset) v += other;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  float earlier = 0.0f;
  all = 0.0f;
#pragma unroll
  for (int i = 0; i < THREADS / 32; ++i) {
    if (i == warp) earlier = all;
    all += sums[i];
  }
  return earlier + v - mine;
#endif
}
extern "C" __global__ void __launch_bounds__(THREADS)
    optimised(const float* __restrict__ x, float* __restrict__ y, int columns) {
  constexpr int own = VEC * ITEMS;
  const u64 base = (u64)blockIdx.x * columns;
  float carry = 0.0f;
  for (int start = 0; start < columns; start += THREADS * own) {
    float v[own];
    const int first = start + threadIdx.x * own;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      Pack<float, VEC> a = {};
      if (first + item * VEC < columns) a = load<HINT, float, VEC>(x + base + first + item * VEC);
#pragma unroll
      for (int e = 0; e < VEC; ++e) v[item * VEC + e] = a.at[e];
    }
#pragma unroll
    for (int e = 1; e < own; ++e) v[e] += v[e - 1];
    float all;
    const float offset = carry + before(v[own - 1], all);
    carry += all;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      Pack<float, VEC> a;
#pragma unroll
      for (int e = 0; e < VEC; ++e) a.at[e] = v[item * VEC + e] + offset;
      if (first + item * VEC < columns) store<HINT>(y + base + first + item * VEC, a);
    }
  }
}

extern "C" __global__ void reference(const float* x, float* y, int columns) {
  if (threadIdx.x != 0) return;
  double sum = 0.0;
  for (int i = 0; i < columns; ++i) {
    sum += x[(u64)blockIdx.x * columns + i];
    y[(u64)blockIdx.x * columns + i] = (float)sum;
  }
}
