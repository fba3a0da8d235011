//! summary = "y = w x for a few vectors, fp16 with fp32 sums (a linear layer while decoding)"
//! level = 1
//! dims = ["batch", "n", "k"]
//! shapes = [[1, 1024, 1024], [1, 4096, 1024], [1, 1024, 4096], [1, 4096, 4096], [1, 14336, 4096], [1, 4096, 14336], [2, 4096, 4096], [4, 4096, 4096], [1, 32000, 4096], [4, 14336, 4096]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "THREADS", strategy = "tiling", values = [32, 64, 128, 256], start = 128},
//!   {name = "GROUPS", strategy = "tiling", values = [1, 2, 4, 8], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "METHOD", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "w", type = "f16", count = "n * k", fill = "uniform"},
//!   {name = "x", type = "f16", count = "batch * k", fill = "uniform"},
//!   {name = "y", type = "f16", count = "batch * n", role = "output", scale = "0.3 * sqrt(k)"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(n, GROUPS)", "batch"], block = ["THREADS", "GROUPS"], arguments = ["w", "x", "y", "n", "k"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(n, 8)", "batch"], block = ["32", "8"], arguments = ["w", "x", "y", "n", "k"]}]
//! cost = {flops = "2 * batch * n * k", bytes = "2 * (n * k + batch * (n + k))", cache_bytes = "2 * batch * n * k", pipe = "fma"}
//! serves = {kernel = "gemm", dtype = "bf16", sizes = {m = "batch", n = "n", k = "k"}}
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ w, const f16* __restrict__ x, f16* __restrict__ y, int n,
              int k) {
  const int row = my_row<GROUPS>(n);
  const f16* from = x + (u64)blockIdx.y * k;
  float lanes[VEC] = {};
  along_row<THREADS, VEC, UNROLL>(k, [&](int i) {
    const auto a = load<HINT, f16, VEC>(w + (u64)row * k + i);
    const auto b = load<0, f16, VEC>(from + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) lanes[e] += widen(a.at[e]) * widen(b.at[e]);
  });
  float sum = 0.0f;
#pragma unroll
  for (int e = 0; e < VEC; ++e) sum += lanes[e];
  sum = group_reduce<Sum, THREADS, GROUPS, METHOD>(sum);
  if (threadIdx.x == 0) y[(u64)blockIdx.y * n + row] = narrow<f16>(sum);
}

extern "C" __global__ void reference(const f16* w, const f16* x, f16* y, int n, int k) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= n) return;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < k; i += 32) {
    sum += widen(w[(u64)row * k + i]) * widen(x[(u64)blockIdx.y * k + i]);
  }
  sum = warp_reduce<Sum>(sum);
  if (threadIdx.x == 0) y[(u64)blockIdx.y * n + row] = narrow<f16>(sum);
}
