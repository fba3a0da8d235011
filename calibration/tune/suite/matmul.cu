//! summary = "c = a bT, fp16 on tensor cores with fp32 sums (a linear layer)"
//! level = 1
//! dims = ["m", "n", "k"]
//! shapes = [[16, 4096, 4096], [64, 4096, 1024], [128, 1024, 1024], [256, 4096, 1024], [512, 512, 4096], [512, 4096, 4096], [1024, 1024, 1024], [1000, 3000, 1000], [2048, 2048, 2048], [4096, 4096, 1024]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "BM", strategy = "tiling", values = [64, 128], start = 64},
//!   {name = "BN", strategy = "tiling", values = [64, 128, 256], start = 64},
//!   {name = "BK", strategy = "tiling", values = [32, 64], start = 32},
//!   {name = "VEC", strategy = "vectorization", values = [2, 8], start = 2},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2, 3, 4], start = 1},
//!   {name = "GROUP", strategy = "reordering", values = [1, 8], start = 1},
//!   {name = "WARPS_M", strategy = "reordering", values = [1, 2, 4], start = 2},
//!   {name = "PAD", strategy = "access_layout", values = [0, 8], start = 0},
//! ]
//! buffers = [
//!   {name = "a", type = "f16", count = "m * k", fill = "uniform"},
//!   {name = "b", type = "f16", count = "n * k", fill = "uniform"},
//!   {name = "c", type = "f16", count = "m * n", role = "output", scale = "0.3 * sqrt(k)"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(m, BM) * ceildiv(n, BN)"], block = ["WARPS_M * 64"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["a", "b", "c", "m", "n", "k"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 32)", "ceildiv(m, 8)"], block = ["32", "8"], arguments = ["a", "b", "c", "m", "n", "k"]}]
//! cost = {flops = "2 * m * n * k", bytes = "2 * (m * k + n * k + m * n)", cache_bytes = "2 * m * n * k * (1 / BM + 1 / BN)", pipe = "tensor"}
//! serves = {kernel = "gemm", dtype = "bf16", sizes = {m = "m", n = "n", k = "k"}}
//! tile = {m = "BM", n = "BN", k = "BK", warps = "2 * WARPS_M", stages = "STAGES", group_m = "GROUP"}
extern "C" __global__ void __launch_bounds__(WARPS_M * 64)
    optimised(const f16* __restrict__ a, const f16* __restrict__ b, f16* __restrict__ c, int m,
              int n, int k) {
  int tile_m, tile_n;
  grouped<GROUP>(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN, tile_m, tile_n);
  tile_product<BM, BN, BK, STAGES, WARPS_M, 2, VEC, PAD>(
      a, b, m, n, k, tile_m * BM, tile_n * BN, [&](int row, int column, float v, float w) {
        Pack<f16, 2> pair;
        pair.at[0] = narrow<f16>(v);
        pair.at[1] = narrow<f16>(w);
        store<0>(c + (u64)row * n + column, pair);
      });
}

extern "C" __global__ void reference(const f16* a, const f16* b, f16* c, int m, int n, int k) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += widen(a[(u64)row * k + i]) * widen(b[(u64)column * k + i]);
  c[(u64)row * n + column] = narrow<f16>(sum);
}
