//! summary = "sum = x + residual and its RMS norm with weight, fp16; sum and norm apart, in one launch, or in one with the row kept"
//! level = 2
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 3e-3
//! parameters = [
//!   {name = "THREADS", strategy = "tiling", values = [32, 64, 128, 256, 512], start = 256},
//!   {name = "GROUPS", strategy = "tiling", values = [1, 4], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1, 2], start = 0},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "METHOD", strategy = "reordering", values = [0, 1], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "rows * columns", fill = "uniform"},
//!   {name = "residual", type = "f16", count = "rows * columns", fill = "uniform"},
//!   {name = "weight", type = "f16", count = "columns", fill = "uniform"},
//!   {name = "sum", type = "f16", count = "rows * columns", role = "output"},
//!   {name = "y", type = "f16", count = "rows * columns", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], shared = "FUSED == 2 ? GROUPS * columns * 4 : 0", arguments = ["x", "residual", "weight", "sum", "y", "rows", "columns"]},
//!   {kernel = "add", when = "!FUSED", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], arguments = ["x", "residual", "sum", "rows", "columns"]},
//!   {kernel = "norm_sum", when = "!FUSED", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], arguments = ["weight", "sum", "y", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "residual", "weight", "sum", "y", "rows", "columns"]}]
//! cost = {flops = "6 * rows * columns", bytes = "8 * rows * columns", cache_bytes = "rows * columns * (FUSED == 2 ? 10 : FUSED == 1 ? 12 : 14)", pipe = "fma"}
//! serves = {kernel = "fused_add_rms_norm", dtype = "bf16", sizes = {tokens = "rows", dim = "columns"}}
constexpr int HINT = 0;
// With ADD the sum is made and written here, else it is there already.
template <bool ADD>
__device__ __forceinline__ void norm(const f16* __restrict__ x, const f16* __restrict__ residual,
                                     const f16* __restrict__ weight, f16* sum, f16* __restrict__ y,
                                     int rows, int columns) {
  const u64 base = (u64)my_row<GROUPS>(rows) * columns;
  float* kept = kept_row(columns);
  float squares = 0.0f;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    Pack<f16, VEC> a;
    if (ADD) {
      a = load<HINT, f16, VEC>(x + base + i);
      const auto r = load<HINT, f16, VEC>(residual + base + i);
#pragma unroll
      for (int e = 0; e < VEC; ++e) a.at[e] = narrow<f16>(widen(a.at[e]) + widen(r.at[e]));
      store<0>(sum + base + i, a);
    } else {
      a = load<0, f16, VEC>(sum + base + i);
    }
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float v = widen(a.at[e]);
      if (FUSED == 2) kept[i + e] = v;
      squares += v * v;
    }
  });
  const float scale =
      rsqrtf(group_reduce<Sum, THREADS, GROUPS, METHOD>(squares) / columns + 1e-6f);
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    Pack<f16, VEC> a;
    if (FUSED != 2) a = load<0, f16, VEC>(sum + base + i);
    const auto w = load<0, f16, VEC>(weight + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      a.at[e] = narrow<f16>((FUSED == 2 ? kept[i + e] : widen(a.at[e])) * scale * widen(w.at[e]));
    }
    store<HINT>(y + base + i, a);
  });
}
#if FUSED
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    fused(const f16* x, const f16* residual, const f16* weight, f16* sum, f16* y, int rows,
          int columns) {
  norm<true>(x, residual, weight, sum, y, rows, columns);
}
#else
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    add(const f16* __restrict__ x, const f16* __restrict__ residual, f16* __restrict__ sum,
        int rows, int columns) {
  const u64 base = (u64)my_row<GROUPS>(rows) * columns;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    auto a = load<HINT, f16, VEC>(x + base + i);
    const auto r = load<HINT, f16, VEC>(residual + base + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) a.at[e] = narrow<f16>(widen(a.at[e]) + widen(r.at[e]));
    store<0>(sum + base + i, a);
  });
}
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    norm_sum(const f16* weight, f16* sum, f16* y, int rows, int columns) {
  norm<false>(sum, sum, weight, sum, y, rows, columns);
}
#endif

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, const f16* residual, const f16* weight,
                                     f16* sum, f16* y, int rows, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  const u64 base = (u64)row * columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const f16 v = narrow<f16>(widen(x[base + i]) + widen(residual[base + i]));
    sum[base + i] = v;
    squares += widen(v) * widen(v);
  }
  const float root = sqrtf(warp_reduce<Sum>(squares) / columns + 1e-6f);
  for (int i = threadIdx.x; i < columns; i += 32) {
    y[base + i] = narrow<f16>(widen(sum[base + i]) / root * widen(weight[i]));
  }
}
