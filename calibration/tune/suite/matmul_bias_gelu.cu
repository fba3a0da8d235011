//! summary = "c = gelu(a bT + bias), fp16 on tensor cores; bias and activation in launches of their own or in the product's end"
//! level = 2
//! dims = ["m", "n", "k"]
//! shapes = [[16, 4096, 4096], [64, 4096, 1024], [128, 1024, 1024], [256, 4096, 1024], [512, 512, 4096], [512, 4096, 4096], [1024, 1024, 1024], [1000, 3000, 1000], [2048, 2048, 2048], [4096, 4096, 1024]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "BM", strategy = "tiling", values = [64, 128], start = 64},
//!   {name = "BN", strategy = "tiling", values = [64, 128, 256], start = 64},
//!   {name = "BK", strategy = "tiling", values = [32, 64], start = 32},
//!   {name = "VEC", strategy = "vectorization", values = [2, 8], start = 2},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2, 3, 4], start = 1},
//!   {name = "WARPS_M", strategy = "reordering", values = [2, 4], start = 2},
//!   {name = "PAD", strategy = "access_layout", values = [0, 8], start = 0},
//! ]
//! buffers = [
//!   {name = "a", type = "f16", count = "m * k", fill = "uniform"},
//!   {name = "b", type = "f16", count = "n * k", fill = "uniform"},
//!   {name = "bias", type = "f16", count = "n", fill = "uniform"},
//!   {name = "middle", type = "f32", count = "m * n", role = "scratch"},
//!   {name = "c", type = "f16", count = "m * n", role = "output", scale = "0.3 * sqrt(k)"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ceildiv(m, BM) * ceildiv(n, BN)"], block = ["WARPS_M * 64"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["a", "b", "bias", "c", "m", "n", "k"]},
//!   {kernel = "product", when = "!FUSED", grid = ["ceildiv(m, BM) * ceildiv(n, BN)"], block = ["WARPS_M * 64"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["a", "b", "middle", "m", "n", "k"]},
//!   {kernel = "activate", when = "!FUSED", grid = ["ceildiv(m * n, 256)"], block = ["256"], arguments = ["middle", "bias", "c", "m", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 32)", "ceildiv(m, 8)"], block = ["32", "8"], arguments = ["a", "b", "bias", "c", "m", "n", "k"]}]
//! cost = {flops = "2 * m * n * k", bytes = "2 * (m * k + n * k + m * n)", cache_bytes = "2 * m * n * k * (1 / BM + 1 / BN) + (FUSED ? 0 : 8 * m * n)", pipe = "tensor"}
// The product in fp32 if unfused, else the finished result.
template <class T>
__device__ __forceinline__ void product_of(const f16* __restrict__ a, const f16* __restrict__ b,
                                           const f16* __restrict__ bias, T* __restrict__ to, int m,
                                           int n, int k) {
  int tile_m, tile_n;
  grouped<8>(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN, tile_m, tile_n);
  tile_product<BM, BN, BK, STAGES, WARPS_M, 2, VEC, PAD>(
      a, b, m, n, k, tile_m * BM, tile_n * BN, [&](int row, int column, float v, float w) {
        Pack<T, 2> pair;
        pair.at[0] = narrow<T>(FUSED ? gelu(v + widen(bias[column])) : v);
        pair.at[1] = narrow<T>(FUSED ? gelu(w + widen(bias[column + 1])) : w);
        store<0>(to + (u64)row * n + column, pair);
      });
}
#if FUSED
extern "C" __global__ void __launch_bounds__(WARPS_M * 64)
    fused(const f16* a, const f16* b, const f16* bias, f16* c, int m, int n, int k) {
  product_of(a, b, bias, c, m, n, k);
}
#else
extern "C" __global__ void __launch_bounds__(WARPS_M * 64)
    product(const f16* a, const f16* b, float* middle, int m, int n, int k) {
  product_of(a, b, a, middle, m, n, k);
}
extern "C" __global__ void activate(const float* middle, const f16* bias, f16* c, int m, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m * n) c[i] = narrow<f16>(gelu(middle[i] + widen(bias[i % n])));
}
#endif

extern "C" __global__ void reference(const f16* a, const f16* b, const f16* bias, f16* c, int m,
                                     int n, int k) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = widen(bias[column]);
  for (int i = 0; i < k; ++i) sum += widen(a[(u64)row * k + i]) * widen(b[(u64)column * k + i]);
  c[(u64)row * n + column] =
      narrow<f16>(0.5f * sum * (1.0f + tanhf(0.7978845608f * (sum + 0.044715f * sum * sum * sum))));
}
