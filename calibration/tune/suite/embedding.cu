//! summary = "rows of a table of 32,000 by token, fp16"
//! level = 1
//! dims = ["tokens", "width"]
//! shapes = [[16, 1024], [64, 4096], [256, 1024], [512, 2048], [1024, 4096], [2048, 768], [4096, 1024], [4096, 4096], [8192, 2048], [16384, 4096]]
//! tolerance = 0.0
//! parameters = [
//!   {name = "THREADS", strategy = "tiling", values = [32, 64, 128, 256], start = 128},
//!   {name = "GROUPS", strategy = "tiling", values = [1, 2, 4], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "ORDER", strategy = "reordering", values = [0, 1], start = 0},
//!   {name = "HINT", strategy = "access_layout", values = [0, 2], start = 0},
//! ]
//! buffers = [
//!   {name = "table", type = "f16", count = "32000 * width", fill = "uniform"},
//!   {name = "token", type = "i32", count = "tokens", fill = "index", below = "32000"},
//!   {name = "y", type = "f16", count = "tokens * width", role = "output"},
//! ]
//! launches = [
//!   {kernel = "optimised", grid = ["ORDER ? min(ceildiv(tokens, GROUPS), SMS * 4) : ceildiv(tokens, GROUPS)"], block = ["THREADS", "GROUPS"], arguments = ["table", "token", "y", "tokens", "width"]},
//! ]
//! reference = [{kernel = "reference", grid = ["tokens"], block = ["128"], arguments = ["table", "token", "y", "width"]}]
//! cost = {flops = "1", bytes = "4 * tokens * width", cache_bytes = "4 * tokens * width", pipe = "fma"}
//! serves = {kernel = "embedding", dtype = "bf16", sizes = {tokens = "tokens", dim = "width"}}
extern "C" __global__ void __launch_bounds__(THREADS * GROUPS)
    optimised(const f16* __restrict__ table, const int* __restrict__ token, f16* __restrict__ y,
              int tokens, int width) {
  for (int i = blockIdx.x * GROUPS + threadIdx.y; i < tokens; i += gridDim.x * GROUPS) {
    const f16* from = table + (u64)token[i] * width;
    f16* to = y + (u64)i * width;
    along_row<THREADS, VEC, UNROLL>(
        width, [&](int column) { store<HINT>(to + column, load<HINT, f16, VEC>(from + column)); });
  }
}

extern "C" __global__ void reference(const f16* table, const int* token, f16* y, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    y[(u64)blockIdx.x * width + i] = table[(u64)token[blockIdx.x] * width + i];
  }
}
