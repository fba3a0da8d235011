//! summary = "sum of each row of fp16 in fp32; partial sums and their sum, or in one launch"
//! level = 1
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 1e-3
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
//!   {name = "partial", type = "f32", count = "rows * 4", role = "scratch"},
//!   {name = "total", type = "f32", count = "rows", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ceildiv(rows, GROUPS)"], block = ["THREADS", "GROUPS"], arguments = ["x", "total", "rows", "columns"]},
//!   {kernel = "partial_sums", when = "!FUSED", grid = ["ceildiv(rows, GROUPS)", "4"], block = ["THREADS", "GROUPS"], arguments = ["x", "partial", "rows", "columns"]},
//!   {kernel = "finish", when = "!FUSED", grid = ["ceildiv(rows, 128)"], block = ["128"], arguments = ["partial", "total", "rows"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(rows, 8)"], block = ["32", "8"], arguments = ["x", "total", "rows", "columns"]}]
//! cost = {flops = "rows * columns", bytes = "2 * rows * columns", cache_bytes = "2 * rows * columns", pipe = "fma"}
// Sum of the elements from `first` up to `end` of this group's row.
__device__ __forceinline__ float part(const f16* __restrict__ row, int first, int end) {
  float lanes[VEC] = {};
  along_row<THREADS, VEC, UNROLL>(end - first, [&](int i) {
    const auto a = load<HINT, f16, VEC>(row + first + i);
#pragma unroll
    for (int e = 0; e < VEC; ++e) lanes[e] += widen(a.at[e]);
  });
  float sum = 0.0f;
#pragma unroll
  for (int e = 0; e < VEC; ++e) sum += lanes[e];
  return group_reduce<Sum, THREADS, GROUPS, METHOD>(sum);
}
#if FUSED
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    fused(const f16* x, float* total, int rows, int columns) {
  const int row = my_row<GROUPS>(rows);
  const float sum = part(x + (u64)row * columns, 0, columns);
  if (threadIdx.x == 0) total[row] = sum;
}
#else
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    partial_sums(const f16* x, float* partial, int rows, int columns) {
  const int row = my_row<GROUPS>(rows);
  const int quarter = columns / 4;
  const float sum = part(x + (u64)row * columns, blockIdx.y * quarter, (blockIdx.y + 1) * quarter);
  if (threadIdx.x == 0) partial[row * 4 + blockIdx.y] = sum;
}
extern "C" __global__ void finish(const float* partial, float* total, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) sum += partial[row * 4 + i];
  total[row] = sum;
}
#endif

// One warp a row, two plain passes.
extern "C" __global__ void reference(const f16* x, float* total, int rows, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= rows) return;
  double sum = 0.0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += widen(x[(u64)row * columns + i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) total[row] = (float)sum;
}
