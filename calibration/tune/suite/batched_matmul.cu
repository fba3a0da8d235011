//! summary = "c = a bT for every member of a batch, fp16 on tensor cores (scores of attention)"
//! level = 2
//! dims = ["batch", "m", "n", "k"]
//! shapes = [[8, 64, 64, 64], [32, 128, 128, 64], [64, 128, 128, 128], [16, 256, 256, 64], [128, 64, 256, 128], [32, 512, 512, 64], [64, 256, 512, 128], [8, 1024, 1024, 128], [32, 1024, 1024, 64], [256, 128, 512, 128]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "BM", strategy = "tiling", values = [64, 128], start = 64},
//!   {name = "BN", strategy = "tiling", values = [64, 128], start = 64},
//!   {name = "BK", strategy = "tiling", values = [32, 64], start = 32},
//!   {name = "VEC", strategy = "vectorization", values = [2, 8], start = 2},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2, 3, 4], start = 1},
//!   {name = "WARPS_M", strategy = "reordering", values = [1, 2, 4], start = 2},
//!   {name = "PAD", strategy = "access_layout", values = [0, 8], start = 0},
//! ]
//! buffers = [
//!   {name = "a", type = "f16", count = "batch * m * k", fill = "uniform"},
//!   {name = "b", type = "f16", count = "batch * n * k", fill = "uniform"},
//!   {name = "c", type = "f16", count = "batch * m * n", role = "output", scale = "0.3 * sqrt(k)"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(m, BM) * ceildiv(n, BN)", "batch"], block = ["WARPS_M * 64"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["a", "b", "c", "m", "n", "k"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 32)", "ceildiv(m, 8)", "batch"], block = ["32", "8"], arguments = ["a", "b", "c", "m", "n", "k"]}]
//! cost = {flops = "2 * m * n * k * batch", bytes = "2 * (m * k + n * k + m * n) * batch", cache_bytes = "2 * m * n * k * batch * (1 / BM + 1 / BN)", pipe = "tensor"}
extern "C" __global__ void __launch_bounds__(WARPS_M * 64)
    optimised(const f16* __restrict__ a, const f16* __restrict__ b, f16* __restrict__ c, int m,
              int n, int k) {
  int tile_m, tile_n;
  grouped<1>(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN, tile_m, tile_n);
  const u64 member = blockIdx.y;
  tile_product<BM, BN, BK, STAGES, WARPS_M, 2, VEC, PAD>(
      a + member * m * k, b + member * n * k, m, n, k, tile_m * BM, tile_n * BN,
      [&](int row, int column, float v, float w) {
        Pack<f16, 2> pair;
        pair.at[0] = narrow<f16>(v);
        pair.at[1] = narrow<f16>(w);
        store<0>(c + (member * m + row) * n + column, pair);
      });
}

extern "C" __global__ void reference(const f16* a, const f16* b, f16* c, int m, int n, int k) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= m || column >= n) return;
  const u64 member = blockIdx.z;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum += widen(a[(member * m + row) * k + i]) * widen(b[(member * n + column) * k + i]);
  }
  c[(member * m + row) * n + column] = narrow<f16>(sum);
}
