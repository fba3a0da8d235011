//! summary = "int8 of each row with its scale (largest magnitude / 127), from fp16; the row read twice or kept"
//! level = 2
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 1.01e-2
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
//!   {name = "q", type = "i8", count = "rows * columns", role = "output", scale = "100"},
//!   {name = "scale", type = "f32", count = "rows", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], shared = "FUSED ? GROUPS * columns * 4 : 0", arguments = ["x", "q", "scale", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "q", "scale", "rows", "columns"]}]
//! cost = {flops = "4 * rows * columns", bytes = "3 * rows * columns", cache_bytes = "rows * columns * (FUSED ? 3 : 5)", pipe = "fma"}
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale,
              int rows, int columns) {
  const int row = my_row<GROUPS>(rows);
  const u64 base = (u64)row * columns;
  float* kept = kept_row(columns);
  float top = 0.0f;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    const auto a = load<HINT, f16, VEC>(x + base + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float v = widen(a.at[e]);
      if (FUSED) kept[i + e] = v;
      top = fmaxf(top, fabsf(v));
    }
  });
  top = fmaxf(group_reduce<Max, THREADS, GROUPS, METHOD>(top), 1e-10f);
  const float factor = 127.0f / top;
  if (threadIdx.x == 0) scale[row] = top / 127.0f;
  along_row<THREADS, VEC, UNROLL>(columns, [&](int i) {
    Pack<f16, VEC> a;
    if (!FUSED) a = load<HINT, f16, VEC>(x + base + i);
    Pack<signed char, VEC> b;
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      b.at[e] = (signed char)__float2int_rn((FUSED ? kept[i + e] : widen(a.at[e])) * factor);
    }
    store<HINT>(q + base + i, b);
  });
}

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, signed char* q, float* scale, int rows,
                                     int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  const u64 base = (u64)row * columns;
  float top = 1e-10f;
  for (int i = threadIdx.x; i < columns; i += 32) top = fmaxf(top, fabsf(widen(x[base + i])));
  top = warp_reduce<Max>(top);
  if (threadIdx.x == 0) scale[row] = top / 127.0f;
  for (int i = threadIdx.x; i < columns; i += 32) {
    q[base + i] = (signed char)rintf(widen(x[base + i]) * 127.0f / top);
  }
}
