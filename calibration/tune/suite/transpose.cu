//! summary = "transpose of an fp32 matrix; straight through memory or through tiles in shared memory"
//! level = 1
//! dims = ["rows", "columns"]
//! shapes = [[64, 64], [256, 256], [512, 1024], [1024, 512], [1024, 1024], [2048, 2048], [1000, 3000], [4096, 2048], [2048, 8192], [8192, 4096]]
//! tolerance = 0.0
//! parameters = [
//!   {name = "TILE", strategy = "tiling", values = [8, 16, 32, 64], start = 16},
//!   {name = "HEIGHT", strategy = "pipeline", values = [2, 4, 8], start = 8},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4], start = 1},
//!   {name = "STAGED", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "PAD", strategy = "access_layout", values = [0, 1], start = 0},
//!   {name = "DIAGONAL", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f32", count = "rows * columns", fill = "uniform"},
//!   {name = "y", type = "f32", count = "rows * columns", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ceildiv(columns, TILE)", "ceildiv(rows, TILE)"], block = ["TILE / VEC", "HEIGHT"], arguments = ["x", "y", "rows", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows * columns, 256)"], block = ["256"], arguments = ["x", "y", "rows", "columns"]}]
//! cost = {flops = "1", bytes = "8 * rows * columns", cache_bytes = "STAGED ? 8 * rows * columns : 36 * rows * columns", pipe = "fma"}
extern "C" __global__ void __launch_bounds__(TILE / VEC * HEIGHT)
    optimised(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int tile_x = blockIdx.x, tile_y = blockIdx.y;
  if (DIAGONAL) tile_y = (blockIdx.x + blockIdx.y) % gridDim.y;
  const int row0 = tile_y * TILE, column0 = tile_x * TILE;
  const int along = threadIdx.x * VEC;
#if STAGED
  __shared__ __align__(16) float tile[TILE][TILE + PAD * 4];
  for (int r = threadIdx.y; r < TILE; r += HEIGHT) {
    if (row0 + r < rows && column0 + along < columns) {
      const auto a = load<HINT, float, VEC>(x + (u64)(row0 + r) * columns + column0 + along);
#pragma unroll
      for (int e = 0; e < VEC; ++e) tile[r][along + e] = a.at[e];
    }
  }
  __syncthreads();
  for (int c = threadIdx.y; c < TILE; c += HEIGHT) {
    if (column0 + c < columns && row0 + along < rows) {
      Pack<float, VEC> a;
#pragma unroll
      for (int e = 0; e < VEC; ++e) a.at[e] = tile[along + e][c];
      store<HINT>(y + (u64)(column0 + c) * rows + row0 + along, a);
    }
  }
#else
  for (int r = threadIdx.y; r < TILE; r += HEIGHT) {
    if (row0 + r >= rows || column0 + along >= columns) continue;
    const auto a = load<HINT, float, VEC>(x + (u64)(row0 + r) * columns + column0 + along);
#pragma unroll
    for (int e = 0; e < VEC; ++e) y[(u64)(column0 + along + e) * rows + row0 + r] = a.at[e];
  }
#endif
}

extern "C" __global__ void reference(const float* x, float* y, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) y[(u64)(i % columns) * rows + i / columns] = x[i];
}
