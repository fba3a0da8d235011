//! summary = "y = softmax of each row, fp16; three passes over memory, or the row kept in shared memory, or one online pass for maximum and sum"
//! level = 1
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 2e-3
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
//!   {name = "y", type = "f16", count = "rows * columns", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], shared = "FUSED == 1 ? GROUPS * columns * 4 : 0", arguments = ["x", "y", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "y", "rows", "columns"]}]
//! cost = {flops = "8 * rows * columns", bytes = "4 * rows * columns", cache_bytes = "rows * columns * (FUSED == 0 ? 8 : FUSED == 1 ? 4 : 6)", pipe = "fma"}
constexpr int HINT = 0;
constexpr float log2e = 1.44269504f;
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ x, f16* __restrict__ y, int rows, int columns) {
  const u64 base = (u64)my_row<GROUPS>(rows) * columns;
  float* kept = kept_row(columns);
  float top = Max::identity(), sum = 0.0f;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    const auto a = load<HINT, f16, VEC>(x + base + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float v = widen(a.at[e]) * log2e;
      if (FUSED == 1) kept[i + e] = v;
      if (FUSED == 2) {
        const float higher = fmaxf(top, v);
        sum = sum * exp2f(top - higher) + exp2f(v - higher);
        top = higher;
      } else {
        top = fmaxf(top, v);
      }
    }
  });
  const float highest = group_reduce<Max, THREADS, GROUPS, METHOD>(top);
  if (FUSED == 2) {
    sum = sum > 0.0f ? sum * exp2f(top - highest) : 0.0f;
  } else {
    along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
      Pack<f16, VEC> a;
      if (FUSED == 0) a = load<HINT, f16, VEC>(x + base + i);
#pragma unroll
      for (int e = 0; e < VEC; ++e) {
        const float v = exp2f((FUSED == 1 ? kept[i + e] : widen(a.at[e]) * log2e) - highest);
        if (FUSED == 1) kept[i + e] = v;
        sum += v;
      }
    });
  }
  const float scale = 1.0f / group_reduce<Sum, THREADS, GROUPS, METHOD>(sum);
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    Pack<f16, VEC> a;
    if (FUSED != 1) a = load<HINT, f16, VEC>(x + base + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float v = FUSED == 1 ? kept[i + e] : exp2f(widen(a.at[e]) * log2e - highest);
      a.at[e] = narrow<f16>(v * scale);
    }
    store<HINT>(y + base + i, a);
  });
}

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, f16* y, int rows, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  const u64 base = (u64)row * columns;
  float top = Max::identity(), sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) top = fmaxf(top, widen(x[base + i]));
  top = warp_reduce<Max>(top);
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(widen(x[base + i]) - top);
  sum = warp_reduce<Sum>(sum);
  for (int i = threadIdx.x; i < columns; i += 32) {
    y[base + i] = narrow<f16>(expf(widen(x[base + i]) - top) / sum);
  }
}
