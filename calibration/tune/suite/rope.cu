//! summary = "rotary embedding of queries and keys, head width 128, halves apart, fp16; two launches or one"
//! level = 2
//! dims = ["tokens", "heads"]
//! shapes = [[8, 8], [64, 8], [128, 16], [256, 32], [512, 8], [1024, 8], [2048, 16], [2048, 32], [4096, 32], [16384, 16]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "ROWS", strategy = "tiling", values = [1, 2, 4, 8], start = 2},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "query", type = "f16", count = "tokens * heads * 128", fill = "uniform"},
//!   {name = "key", type = "f16", count = "tokens * heads * 128", fill = "uniform"},
//!   {name = "position", type = "i32", count = "tokens", fill = "index", below = "2048"},
//!   {name = "table", type = "f32", count = "2048 * 128", fill = "uniform"},
//!   {name = "query_out", type = "f16", count = "tokens * heads * 128", role = "output"},
//!   {name = "key_out", type = "f16", count = "tokens * heads * 128", role = "output"},
//! ]
//! launches = [
//!   {kernel = "rotate", when = "FUSED", grid = ["ceildiv(tokens * heads, ROWS * ITEMS)", "2"], block = ["64 / VEC", "ROWS"], arguments = ["query", "query_out", "key", "key_out", "position", "table", "tokens", "heads"]},
//!   {kernel = "rotate", when = "!FUSED", grid = ["ceildiv(tokens * heads, ROWS * ITEMS)"], block = ["64 / VEC", "ROWS"], arguments = ["query", "query_out", "query", "query_out", "position", "table", "tokens", "heads"]},
//!   {kernel = "rotate", when = "!FUSED", grid = ["ceildiv(tokens * heads, ROWS * ITEMS)"], block = ["64 / VEC", "ROWS"], arguments = ["key", "key_out", "key", "key_out", "position", "table", "tokens", "heads"]},
//! ]
//! reference = [
//!   {kernel = "reference", grid = ["tokens * heads"], block = ["64"], arguments = ["query", "query_out", "position", "table", "tokens", "heads"]},
//!   {kernel = "reference", grid = ["tokens * heads"], block = ["64"], arguments = ["key", "key_out", "position", "table", "tokens", "heads"]},
//! ]
//! cost = {flops = "6 * tokens * heads * 128", bytes = "8 * tokens * heads * 128", cache_bytes = "16 * tokens * heads * 128", pipe = "fma"}
//! serves = {kernel = "rope", dtype = "bf16", sizes = {tokens = "tokens", heads = "2 * heads", head_dim = "128"}}
// Cosines stand in the first 64 columns of the table, sines in the others. ORDER 1 walks tokens
// first, so that a block's rows share a head; 0 walks heads first, so that they share a position.
extern "C" __global__ void __launch_bounds__(64 / VEC * ROWS)
    rotate(const f16* __restrict__ x, f16* __restrict__ y, const f16* __restrict__ second_x,
           f16* __restrict__ second_y, const int* __restrict__ position,
           const float* __restrict__ table, int tokens, int heads) {
  const f16* from = blockIdx.y ? second_x : x;
  f16* to = blockIdx.y ? second_y : y;
  const int i = threadIdx.x * VEC;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    int row = (blockIdx.x * ITEMS + item) * ROWS + threadIdx.y;
    if (row >= tokens * heads) break;
    if (ORDER) row = row % tokens * heads + row / tokens;
    const float* angle = table + position[row / heads] * 128;
    const auto cosine = load<0, float, VEC>(angle + i);
    const auto sine = load<0, float, VEC>(angle + 64 + i);
    const u64 base = (u64)row * 128 + i;
    const auto low = load<HINT, f16, VEC>(from + base);
    const auto high = load<HINT, f16, VEC>(from + base + 64);
    Pack<f16, VEC> a, b;
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float l = widen(low.at[e]), h = widen(high.at[e]);
      a.at[e] = narrow<f16>(l * cosine.at[e] - h * sine.at[e]);
      b.at[e] = narrow<f16>(h * cosine.at[e] + l * sine.at[e]);
    }
    store<HINT>(to + base, a);
    store<HINT>(to + base + 64, b);
  }
}

extern "C" __global__ void reference(const f16* x, f16* y, const int* position, const float* table,
                                     int tokens, int heads) {
  const u64 base = (u64)blockIdx.x * 128;
  const int i = threadIdx.x;
  const float* angle = table + position[blockIdx.x / heads] * 128;
  const float low = widen(x[base + i]), high = widen(x[base + 64 + i]);
  y[base + i] = narrow<f16>(low * angle[i] - high * angle[64 + i]);
  y[base + 64 + i] = narrow<f16>(high * angle[i] + low * angle[64 + i]);
}
