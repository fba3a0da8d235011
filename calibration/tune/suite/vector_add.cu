//! summary = "z = x + y in fp32"
//! level = 1
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 1e-6
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [64, 128, 256, 512], start = 256},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "OWNED", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 1, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f32", count = "n", fill = "uniform"},
//!   {name = "y", type = "f32", count = "n", fill = "uniform"},
//!   {name = "z", type = "f32", count = "n", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ORDER ? min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * 8) : ceildiv(n, BLOCK * VEC * ITEMS)"], block = ["BLOCK"], arguments = ["x", "y", "z", "n"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["x", "y", "z", "n"]}]
//! cost = {flops = "n", bytes = "12 * n", cache_bytes = "12 * n", pipe = "fma"}
extern "C" __global__ void __launch_bounds__(BLOCK)
    optimised(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z, int n) {
  cover<BLOCK, VEC, ITEMS, ORDER, OWNED>(
      n,
      [&](int i) {
        const auto a = load<HINT, float, VEC>(x + i);
        const auto b = load<HINT, float, VEC>(y + i);
        Pack<float, VEC> c;
#pragma unroll
        for (int e = 0; e < VEC; ++e) c.at[e] = a.at[e] + b.at[e];
        store<HINT>(z + i, c);
      },
      [&](int i) { z[i] = x[i] + y[i]; });
}

extern "C" __global__ void reference(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
