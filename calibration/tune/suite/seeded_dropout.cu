//! summary = "y = x / 0.9 where a hash of (seed, i) keeps it, fp16; unfused it writes the mask first"
//! level = 2
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 1e-3
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [128, 256, 512], start = 256},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "OWNED", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "n", fill = "uniform"},
//!   {name = "mask", type = "f32", count = "n", role = "scratch"},
//!   {name = "y", type = "f16", count = "n", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "y", "n"]},
//!   {kernel = "draw", when = "!FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["mask", "n"]},
//!   {kernel = "apply", when = "!FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "mask", "y", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["x", "y", "n"]}]
//! cost = {flops = "10 * n", bytes = "4 * n", cache_bytes = "FUSED ? 4 * n : 12 * n", pipe = "fma"}
constexpr u32 seed = 20260101u;
// 0 or 1 / 0.9, from 32 hashed bits: dropped with probability 0.1.
__device__ __forceinline__ float factor(int i) {
  return mix(seed ^ (u32)i * 0x9e3779b9u) < 429496729u ? 0.0f : 1.0f / 0.9f;
}
#if FUSED
extern "C" __global__ void __launch_bounds__(BLOCK)
    fused(const f16* __restrict__ x, f16* __restrict__ y, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(x + i);
        Pack<f16, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = narrow<f16>(widen(a.at[e]) * factor(i + e));
        store<HINT>(y + i, c);
      },
      [&](int i) { y[i] = narrow<f16>(widen(x[i]) * factor(i)); });
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK) draw(float* __restrict__ mask, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        Pack<float, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = factor(i + e);
        store<0>(mask + i, c);
      },
      [&](int i) { mask[i] = factor(i); });
}
extern "C" __global__ void __launch_bounds__(BLOCK)
    apply(const f16* __restrict__ x, const float* __restrict__ mask, f16* __restrict__ y, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(x + i);
        const auto b = load<0, float, VEC>(mask + i);
        Pack<f16, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = narrow<f16>(widen(a.at[e]) * b.at[e]);
        store<HINT>(y + i, c);
      },
      [&](int i) { y[i] = narrow<f16>(widen(x[i]) * mask[i]); });
}
#endif

extern "C" __global__ void reference(const f16* x, f16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool dropped = mix(20260101u ^ (u32)i * 0x9e3779b9u) < 429496729u;
  y[i] = narrow<f16>(dropped ? 0.0f : widen(x[i]) * (1.0f / 0.9f));
}
