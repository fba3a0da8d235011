//! summary = "sum of each column of fp16 in fp32 (a bias gradient); partial sums and a second launch, or atomic additions"
//! level = 2
//! dims = ["rows", "columns"]
//! shapes = [[64, 1024], [512, 768], [2048, 512], [1024, 2048], [4096, 1024], [32, 16384], [2048, 4096], [8192, 2048], [4096, 8192], [16384, 4096]]
//! tolerance = 2e-3
//! parameters = [
//!   {name = "WIDTH", strategy = "tiling", values = [8, 16, 32, 64], start = 32},
//!   {name = "HEIGHT", strategy = "tiling", values = [1, 4, 8, 16], start = 4},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "SPLIT", strategy = "reordering", values = [1, 8], start = 1},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "rows * columns", fill = "uniform"},
//!   {name = "partial", type = "f32", count = "8 * columns", role = "scratch"},
//!   {name = "total", type = "f32", count = "columns", role = "output", scale = "0.05 * sqrt(rows)"},
//! ]
//! launches = [
//!   {kernel = "clear", when = "FUSED", grid = ["ceildiv(columns, 256)"], block = ["256"], arguments = ["total", "columns"]},
//!   {kernel = "partial_sums", when = "FUSED", grid = ["ceildiv(columns, WIDTH * VEC)", "SPLIT"], block = ["WIDTH", "HEIGHT"], arguments = ["x", "total", "rows", "columns"]},
//!   {kernel = "partial_sums", when = "!FUSED", grid = ["ceildiv(columns, WIDTH * VEC)", "SPLIT"], block = ["WIDTH", "HEIGHT"], arguments = ["x", "partial", "rows", "columns"]},
//!   {kernel = "finish", when = "!FUSED", grid = ["ceildiv(columns, 256)"], block = ["256"], arguments = ["partial", "total", "columns"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(columns, 64)"], block = ["64"], arguments = ["x", "total", "rows", "columns"]}]
//! cost = {flops = "rows * columns", bytes = "2 * rows * columns", cache_bytes = "2 * rows * columns + 8 * SPLIT * columns", pipe = "fma"}
extern "C" __global__ void __launch_bounds__(WIDTH * HEIGHT)
    partial_sums(const f16* __restrict__ x, float* __restrict__ to, int rows, int columns) {
  __shared__ float all[HEIGHT][WIDTH * VEC + 1];
  const int column = (blockIdx.x * WIDTH + threadIdx.x) * VEC;
  const int height = (rows + SPLIT - 1) / SPLIT;
  const int first = blockIdx.y * height, end = min(rows, first + height);
  float sum[VEC] = {};
  if (column < columns) {
#pragma unroll UNROLL
    for (int row = first + threadIdx.y; row < end; row += HEIGHT) {
      const auto a = load<0, f16, VEC>(x + (u64)row * columns + column);
#pragma unroll
      for (int e = 0; e < VEC; ++e) sum[e] += widen(a.at[e]);
    }
  }
#pragma unroll
  for (int e = 0; e < VEC; ++e) all[threadIdx.y][threadIdx.x * VEC + e] = sum[e];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
#pragma unroll
  for (int e = 0; e < VEC; ++e) {
    float total = 0.0f;
    for (int i = 0; i < HEIGHT; ++i) total += all[i][threadIdx.x * VEC + e];
    if (FUSED) atomicAdd(to + column + e, total);
    else to[(u64)blockIdx.y * columns + column + e] = total;
  }
}
extern "C" __global__ void clear(float* total, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < columns) total[i] = 0.0f;
}
extern "C" __global__ void finish(const float* partial, float* total, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= columns) return;
  float sum = 0.0f;
  for (int part = 0; part < SPLIT; ++part) sum += partial[(u64)part * columns + i];
  total[i] = sum;
}

extern "C" __global__ void reference(const f16* x, float* total, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= columns) return;
  double sum = 0.0;
  for (int row = 0; row < rows; ++row) sum += widen(x[(u64)row * columns + i]);
  total[i] = (float)sum;
}
