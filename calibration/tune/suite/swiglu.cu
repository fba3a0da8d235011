//! summary = "y = silu(gate) * up, fp16; unfused it writes silu(gate) first"
//! level = 2
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 2e-3
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
//!   {name = "gate", type = "f16", count = "n", fill = "uniform"},
//!   {name = "up", type = "f16", count = "n", fill = "uniform"},
//!   {name = "activated", type = "f32", count = "n", role = "scratch"},
//!   {name = "y", type = "f16", count = "n", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["gate", "up", "y", "n"]},
//!   {kernel = "activate", when = "!FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["gate", "activated", "n"]},
//!   {kernel = "scale", when = "!FUSED", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["activated", "up", "y", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["gate", "up", "y", "n"]}]
//! cost = {flops = "8 * n", bytes = "6 * n", cache_bytes = "FUSED ? 6 * n : 14 * n", pipe = "fma"}
//! serves = {kernel = "silu_and_mul", dtype = "bf16", sizes = {tokens = "ceildiv(n, 4096)", dim = "4096"}}
#if FUSED
extern "C" __global__ void __launch_bounds__(BLOCK)
    fused(const f16* __restrict__ gate, const f16* __restrict__ up, f16* __restrict__ y, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(gate + i);
        const auto b = load<HINT, f16, VEC>(up + i);
        Pack<f16, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          c.at[e] = narrow<f16>(silu(widen(a.at[e])) * widen(b.at[e]));
        }
        store<HINT>(y + i, c);
      },
      [&](int i) { y[i] = narrow<f16>(silu(widen(gate[i])) * widen(up[i])); });
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK)
    activate(const f16* __restrict__ gate, float* __restrict__ activated, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(gate + i);
        Pack<float, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = silu(widen(a.at[e]));
        store<0>(activated + i, c);
      },
      [&](int i) { activated[i] = silu(widen(gate[i])); });
}
extern "C" __global__ void __launch_bounds__(BLOCK)
    scale(const float* __restrict__ activated, const f16* __restrict__ up, f16* __restrict__ y,
          int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<0, float, VEC>(activated + i);
        const auto b = load<HINT, f16, VEC>(up + i);
        Pack<f16, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = narrow<f16>(a.at[e] * widen(b.at[e]));
        store<HINT>(y + i, c);
      },
      [&](int i) { y[i] = narrow<f16>(activated[i] * widen(up[i])); });
}
#endif

extern "C" __global__ void reference(const f16* gate, const f16* up, f16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float g = widen(gate[i]);
  y[i] = narrow<f16>(g / (1.0f + expf(-g)) * widen(up[i]));
}
