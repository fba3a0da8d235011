//! summary = "y = gelu(x + bias) + residual over 4096 channels, fp16; three launches, two or one"
//! level = 2
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 3e-3
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [128, 256, 512], start = 256},
//!   {name = "VEC", strategy = "vectorization", values = [1, 4, 8], start = 1},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "OWNED", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "n", fill = "uniform"},
//!   {name = "bias", type = "f16", count = "4096", fill = "uniform"},
//!   {name = "residual", type = "f16", count = "n", fill = "uniform"},
//!   {name = "middle", type = "f32", count = "n", role = "scratch"},
//!   {name = "y", type = "f16", count = "n", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED == 2", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "bias", "residual", "y", "n"]},
//!   {kernel = "add_bias", when = "FUSED < 2", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "bias", "middle", "n"]},
//!   {kernel = "activate", when = "FUSED == 0", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["middle", "n"]},
//!   {kernel = "add_residual", when = "FUSED < 2", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["middle", "residual", "y", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["x", "bias", "residual", "y", "n"]}]
//! cost = {flops = "14 * n", bytes = "6 * n", cache_bytes = "FUSED == 2 ? 6 * n : FUSED == 1 ? 14 * n : 22 * n", pipe = "fma"}
constexpr int channels = 4096;

// Biased sum, and its activation if ACTIVATE, and the residual too if ADD.
template <bool ACTIVATE, bool ADD, class T>
__device__ __forceinline__ void biased(const f16* __restrict__ x, const f16* __restrict__ bias,
                                       const f16* __restrict__ residual, T* __restrict__ to, int n) {
  auto one = [&](float v, float b, float r) {
    v += b;
    if (ACTIVATE) v = gelu(v);
    return narrow<T>(ADD ? v + r : v);
  };
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(x + i);
        const auto b = load<0, f16, VEC>(bias + i % channels);
        Pack<f16, VEC> r;
        if (ADD) r = load<HINT, f16, VEC>(residual + i);
        Pack<T, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          c.at[e] = one(widen(a.at[e]), widen(b.at[e]), ADD ? widen(r.at[e]) : 0.0f);
        }
        store<HINT>(to + i, c);
      },
      [&](int i) {
        to[i] = one(widen(x[i]), widen(bias[i % channels]), ADD ? widen(residual[i]) : 0.0f);
      });
}
#if FUSED == 2
extern "C" __global__ void __launch_bounds__(BLOCK)
    fused(const f16* x, const f16* bias, const f16* residual, f16* y, int n) {
  biased<true, true>(x, bias, residual, y, n);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_bias(const f16* x, const f16* bias, float* middle, int n) {
  biased<FUSED == 1, false>(x, bias, x, middle, n);
}
extern "C" __global__ void __launch_bounds__(BLOCK) activate(float* middle, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        auto a = load<0, float, VEC>(middle + i);
#pragma unroll
        for (int e = 0; e < VEC; ++e) a.at[e] = gelu(a.at[e]);
        store<0>(middle + i, a);
      },
      [&](int i) { middle[i] = gelu(middle[i]); });
}
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_residual(const float* __restrict__ middle, const f16* __restrict__ residual,
                 f16* __restrict__ y, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<0, float, VEC>(middle + i);
        const auto r = load<HINT, f16, VEC>(residual + i);
        Pack<f16, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = narrow<f16>(a.at[e] + widen(r.at[e]));
        store<HINT>(y + i, c);
      },
      [&](int i) { y[i] = narrow<f16>(middle[i] + widen(residual[i])); });
}
#endif

extern "C" __global__ void reference(const f16* x, const f16* bias, const f16* residual, f16* y,
                                     int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = widen(x[i]) + widen(bias[i % 4096]);
  const float g = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  y[i] = narrow<f16>(g + widen(residual[i]));
}
