//! summary = "RMS norm of each row with weight, fp16; the row read twice, or kept in shared memory"
//! level = 1
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 3e-3
//! parameters = [
//!   {name = "THREADS", strategy = "tiling", values = [32, 64, 128, 256, 512], start = 256},
//!   {name = "GROUPS", strategy = "tiling", values = [1, 4], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "METHOD", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "rows * columns", fill = "uniform"},
//!   {name = "weight", type = "f16", count = "columns", fill = "uniform"},
//!   {name = "y", type = "f16", count = "rows * columns", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], shared = "FUSED ? GROUPS * columns * 4 : 0", arguments = ["x", "weight", "y", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "weight", "y", "rows", "columns"]}]
//! cost = {flops = "5 * rows * columns", bytes = "4 * rows * columns", cache_bytes = "rows * columns * (FUSED ? 6 : 8)", pipe = "fma"}
//! serves = {kernel = "rms_norm", dtype = "bf16", sizes = {tokens = "rows", dim = "columns"}}
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ x, const f16* __restrict__ weight, f16* __restrict__ y,
              int rows, int columns) {
  const u64 base = (u64)my_row<GROUPS>(rows) * columns;
  float* kept = kept_row(columns);
  float squares = 0.0f;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    const auto a = load<HINT, f16, VEC>(x + base + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float v = widen(a.at[e]);
      if (FUSED) kept[i + e] = v;
      squares += v * v;
    }
  });
  const float scale =
      rsqrtf(group_reduce<Sum, THREADS, GROUPS, METHOD>(squares) / columns + 1e-6f);
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    Pack<f16, VEC> a;
    if (!FUSED) a = load<HINT, f16, VEC>(x + base + i);
    const auto w = load<0, f16, VEC>(weight + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      a.at[e] = narrow<f16>((FUSED ? kept[i + e] : widen(a.at[e])) * scale * widen(w.at[e]));
    }
    store<HINT>(y + base + i, a);
  });
}

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, const f16* weight, f16* y, int rows,
                                     int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  const u64 base = (u64)row * columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) squares += widen(x[base + i]) * widen(x[base + i]);
  const float root = sqrtf(warp_reduce<Sum>(squares) / columns + 1e-6f);
  for (int i = threadIdx.x; i < columns; i += 32) {
    y[base + i] = narrow<f16>(widen(x[base + i]) / root * widen(weight[i]));
  }
}
