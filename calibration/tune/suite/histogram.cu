//! summary = "how many of n choices fell on each of 256 experts; straight into memory or counted in shared memory first"
//! level = 1
//! dims = ["n"]
//! shapes = [[4096], [16384], [65536], [262144], [1000003], [2097152], [4194304], [8388608], [16777216], [33554432]]
//! tolerance = 0.0
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [64, 128, 256, 512], start = 256},
//!   {name = "BLOCKS", strategy = "tiling", values = [1, 2, 4], start = 4},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "ITEMS", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "COPIES", strategy = "access_layout", values = [1, 8], start = 1},
//!   {name = "OWNED", strategy = "reordering", values = [0, 1], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "i32", count = "n", fill = "index", below = "256"},
//!   {name = "counts", type = "i32", count = "256", role = "output"},
//! ]
//! launches = [
//!   {kernel = "clear", grid = ["1"], block = ["256"], arguments = ["counts"]},
//!   {kernel = "count", grid = ["min(ceildiv(n, BLOCK * VEC * ITEMS), SMS * BLOCKS)"], block = ["BLOCK"], arguments = ["x", "counts", "n"]},
//! ]
//! reference = [{kernel = "clear", grid = ["1"], block = ["256"], arguments = ["counts"]}, {kernel = "reference", grid = ["ceildiv(n, 256)"], block = ["256"], arguments = ["x", "counts", "n"]}]
//! cost = {flops = "n", bytes = "4 * n", cache_bytes = "FUSED ? 4 * n : 36 * n", pipe = "fma"}
// COPIES counters for each expert, a thread's by its number: fewer threads wait for one address.
extern "C" __global__ void clear(int* counts) { counts[threadIdx.x] = 0; }
extern "C" __global__ void __launch_bounds__(BLOCK)
    count(const int* __restrict__ x, int* __restrict__ counts, int n) {
#if FUSED
  __shared__ int local[COPIES][257];
  for (int i = threadIdx.x; i < COPIES * 257; i += BLOCK) (&local[0][0])[i] = 0;
  __syncthreads();
  int* mine = local[threadIdx.x % COPIES];
#else
  int* mine = counts;
#endif
  cover<BLOCK, VEC, ITEMS, 1, OWNED>(
      n,
      [&](int i) {
        const auto a = load<0, int, VEC>(x + i);
#pragma unroll
        for (int e = 0; e < VEC; ++e) atomicAdd(mine + a.at[e], 1);
      },
      [&](int i) { atomicAdd(mine + x[i], 1); });
#if FUSED
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += BLOCK) {
    int sum = 0;
    for (int copy = 0; copy < COPIES; ++copy) sum += local[copy][i];
    if (sum != 0) atomicAdd(counts + i, sum);
  }
#endif
}

extern "C" __global__ void reference(const int* x, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}
