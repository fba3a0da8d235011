//! summary = "loss of each row of fp16 logits against its target token; three passes, kept row or online"
//! level = 2
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 1e-3
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
//!   {name = "target", type = "i32", count = "rows", fill = "index", below = "columns"},
//!   {name = "loss", type = "f32", count = "rows", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], shared = "FUSED == 1 ? GROUPS * columns * 4 : 0", arguments = ["x", "target", "loss", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "target", "loss", "rows", "columns"]}]
//! cost = {flops = "6 * rows * columns", bytes = "2 * rows * columns", cache_bytes = "rows * columns * (FUSED == 0 ? 4 : 2)", pipe = "fma"}
constexpr int HINT = 0;
constexpr float log2e = 1.44269504f;
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ x, const int* __restrict__ target, float* __restrict__ loss,
              int rows, int columns) {
  const int row = my_row<GROUPS>(rows);
  const u64 base = (u64)row * columns;
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
        sum += exp2f((FUSED == 1 ? kept[i + e] : widen(a.at[e]) * log2e) - highest);
      }
    });
  }
  sum = group_reduce<Sum, THREADS, GROUPS, METHOD>(sum);
  if (threadIdx.x == 0) {
    loss[row] = (highest + log2f(sum)) / log2e - widen(x[base + target[row]]);
  }
}

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, const int* target, float* loss, int rows,
                                     int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  const u64 base = (u64)row * columns;
  float top = Max::identity(), sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) top = fmaxf(top, widen(x[base + i]));
  top = warp_reduce<Max>(top);
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(widen(x[base + i]) - top);
  sum = warp_reduce<Sum>(sum);
  if (threadIdx.x == 0) loss[row] = top + logf(sum) - widen(x[base + target[row]]);
}
