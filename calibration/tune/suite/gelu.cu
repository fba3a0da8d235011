//! summary = "y = gelu(x), tanh form, fp16"
//! level = 1
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 2e-3
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [64, 128, 256, 512], start = 256},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "OWNED", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 1, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "n", fill = "uniform"},
//!   {name = "y", type = "f16", count = "n", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "y", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["x", "y", "n"]}]
//! cost = {flops = "12 * n", bytes = "4 * n", cache_bytes = "4 * n", pipe = "fma"}
extern "C" __global__ void __launch_bounds__(BLOCK)
    optimised(const f16* __restrict__ x, f16* __restrict__ y, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, f16, VEC>(x + i);
        Pack<f16, VEC> b;
#pragma unroll
        for (int e = 0; e < VEC; ++e) b.at[e] = narrow<f16>(gelu(widen(a.at[e])));
        store<HINT>(y + i, b);
      },
      [&](int i) { y[i] = narrow<f16>(gelu(widen(x[i]))); });
}

extern "C" __global__ void reference(const f16* x, f16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = widen(x[i]);
  y[i] = narrow<f16>(0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
}
