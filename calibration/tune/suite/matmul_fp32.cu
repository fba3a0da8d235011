//! summary = "c = a b in fp32 on the ordinary cores, rows times rows"
//! level = 1
//! dims = ["m", "n", "k"]
//! shapes = [[64, 64, 64], [128, 128, 128], [256, 256, 256], [512, 512, 256], [512, 512, 512], [1024, 512, 512], [1024, 1024, 512], [1000, 1000, 1000], [2048, 1024, 1024], [2048, 2048, 1024]]
//! tolerance = 1e-4
//! parameters = [
//!   {name = "TILE", strategy = "tiling", values = [32, 64, 128], start = 32},
//!   {name = "OWN", strategy = "tiling", values = [2, 4, 8], start = 2},
//!   {name = "BK", strategy = "tiling", values = [16, 32], start = 16},
//!   {name = "VEC", strategy = "vectorization", values = [1, 4], start = 1},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2], start = 1},
//!   {name = "GROUP", strategy = "reordering", values = [1, 8], start = 1},
//!   {name = "SPREAD", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "PAD", strategy = "access_layout", values = [0, 4], start = 0},
//! ]
//! buffers = [
//!   {name = "a", type = "f32", count = "m * k", fill = "uniform"},
//!   {name = "b", type = "f32", count = "k * n", fill = "uniform"},
//!   {name = "c", type = "f32", count = "m * n", role = "output", scale = "0.3 * sqrt(k)"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(m, TILE) * ceildiv(n, TILE)"], block = ["TILE / OWN * (TILE / OWN)"], arguments = ["a", "b", "c", "m", "n", "k"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 32)", "ceildiv(m, 8)"], block = ["32", "8"], arguments = ["a", "b", "c", "m", "n", "k"]}]
//! cost = {flops = "2 * m * n * k", bytes = "4 * (m * k + n * k + m * n)", cache_bytes = "8 * m * n * k / TILE", pipe = "fma"}
// OWN x OWN results a thread. SPREAD: a thread's columns lie a thread's width apart, so that
// neighbours read neighbouring words; else they are its own run.
constexpr int width = TILE / OWN;
constexpr int threads = width * width;
extern "C" __global__ void __launch_bounds__(threads)
    optimised(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
              int m, int n, int k) {
  __shared__ __align__(16) float tile_a[STAGES][BK][TILE + PAD];
  __shared__ __align__(16) float tile_b[STAGES][BK][TILE + PAD];
  int tile_m, tile_n;
  grouped<GROUP>(blockIdx.x, (m + TILE - 1) / TILE, (n + TILE - 1) / TILE, tile_m, tile_n);
  const int row0 = tile_m * TILE, column0 = tile_n * TILE;
  const int tx = threadIdx.x % width, ty = threadIdx.x / width;
  auto fetch = [&](int step) {
    const int stage = step % STAGES, k0 = step * BK;
    for (int i = threadIdx.x * VEC; i < TILE * BK; i += threads * VEC) {
      const int row = i / BK, column = i % BK;
      Pack<float, VEC> v = {};
      if (row0 + row < m && k0 + column < k) {
        v = load<0, float, VEC>(a + (u64)(row0 + row) * k + k0 + column);
      }
#pragma unroll
      for (int e = 0; e < VEC; ++e) tile_a[stage][column + e][row] = v.at[e];
    }
    for (int i = threadIdx.x * VEC; i < TILE * BK; i += threads * VEC) {
      const int row = i / TILE, column = i % TILE;
      Pack<float, VEC> v = {};
      if (k0 + row < k && column0 + column < n) {
        v = load<0, float, VEC>(b + (u64)(k0 + row) * n + column0 + column);
      }
      store<0>(&tile_b[stage][row][column], v);
    }
  };
  float sum[OWN][OWN] = {};
  const int steps = (k + BK - 1) / BK;
  if (STAGES == 2) fetch(0);
  for (int step = 0; step < steps; ++step) {
    if (STAGES == 1) fetch(step);
    __syncthreads();
    if (STAGES == 2 && step + 1 < steps) fetch(step + 1);
    const int stage = step % STAGES;
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float of_a[OWN], of_b[OWN];
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
        of_a[i] = tile_a[stage][kk][SPREAD ? i * width + ty : ty * OWN + i];
        of_b[i] = tile_b[stage][kk][SPREAD ? i * width + tx : tx * OWN + i];
      }
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
#pragma unroll
        for (int j = 0; j < OWN; ++j) sum[i][j] += of_a[i] * of_b[j];
      }
    }
    if (STAGES == 1) __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < OWN; ++i) {
    const int row = row0 + (SPREAD ? i * width + ty : ty * OWN + i);
#pragma unroll
    for (int j = 0; j < OWN; ++j) {
      const int column = column0 + (SPREAD ? j * width + tx : tx * OWN + j);
      if (row < m && column < n) c[(u64)row * n + column] = sum[i][j];
    }
  }
}

extern "C" __global__ void reference(const float* a, const float* b, float* c, int m, int n,
                                     int k) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[(u64)row * k + i] * b[(u64)i * n + column];
  c[(u64)row * n + column] = sum;
}
