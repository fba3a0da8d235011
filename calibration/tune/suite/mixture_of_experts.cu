//! summary = "a layer of experts, fp16 with fp32 sums: rows gathered by expert, gate and up, SiLU, down, weighted sum; activation in a launch of its own or in the product's end"
//! level = 2
//! dims = ["tokens", "experts", "topk", "hidden", "intermediate", "skew"]
//! shapes = [[8, 64, 8, 2048, 1024, 1], [8, 64, 8, 2048, 1024, 3], [32, 64, 8, 2048, 1024, 1], [32, 64, 8, 2048, 1024, 2], [64, 64, 8, 2048, 1024, 1], [64, 64, 8, 2048, 1024, 3], [128, 64, 8, 2048, 1024, 1], [128, 64, 8, 2048, 1024, 2], [256, 64, 8, 2048, 1024, 1], [256, 64, 8, 2048, 1024, 3], [512, 64, 8, 2048, 1024, 2], [1024, 64, 8, 2048, 1024, 1], [16, 128, 8, 2048, 768, 2], [256, 128, 8, 2048, 768, 1], [64, 8, 2, 4096, 1792, 1], [512, 8, 2, 4096, 1792, 2]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "BM", strategy = "tiling", values = [16, 32, 64, 128], start = 64},
//!   {name = "BN", strategy = "tiling", values = [64, 128], start = 64},
//!   {name = "BK", strategy = "tiling", values = [32, 64], start = 32},
//!   {name = "VEC", strategy = "vectorization", values = [2, 8], start = 2},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2, 4], start = 1},
//!   {name = "GROUP", strategy = "reordering", values = [1, 8], start = 1},
//!   {name = "WARPS", strategy = "reordering", values = [4, 8], start = 4},
//!   {name = "PAD", strategy = "access_layout", values = [0, 8], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "tokens * hidden", fill = "uniform"},
//!   {name = "draw", type = "i32", count = "tokens * topk", fill = "index", below = "32768"},
//!   {name = "share", type = "f16", count = "tokens * topk", fill = "uniform"},
//!   {name = "gate_up", type = "f16", count = "experts * 2 * intermediate * hidden", fill = "uniform"},
//!   {name = "down", type = "f16", count = "experts * hidden * intermediate", fill = "uniform"},
//!   {name = "place", type = "i32", count = "tokens * topk", role = "scratch"},
//!   {name = "owner", type = "i32", count = "tokens * topk + experts", role = "scratch"},
//!   {name = "tiles", type = "i32", count = "1", role = "scratch"},
//!   {name = "rows", type = "f16", count = "(tokens * topk + 128 * experts) * hidden", role = "scratch"},
//!   {name = "both", type = "f16", count = "(tokens * topk + 128 * experts) * 2 * intermediate", role = "scratch"},
//!   {name = "middle", type = "f16", count = "(tokens * topk + 128 * experts) * intermediate", role = "scratch"},
//!   {name = "part", type = "f16", count = "(tokens * topk + 128 * experts) * hidden", role = "scratch"},
//!   {name = "y", type = "f16", count = "tokens * hidden", role = "output", scale = "0.08 * hidden * sqrt(intermediate)"},
//! ]
//! launches = [
//!   {kernel = "sort_rows", grid = ["1"], block = ["1024"], arguments = ["draw", "place", "owner", "tiles", "tokens * topk", "experts", "skew"]},
//!   {kernel = "gather", grid = ["tokens * topk"], block = ["128"], arguments = ["x", "place", "rows", "topk", "hidden"]},
//!   {kernel = "widen_rows", grid = ["min(tokens * topk, ceildiv(tokens * topk, BM) + experts) * ceildiv(2 * intermediate, BN)"], block = ["WARPS * 32"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["rows", "gate_up", "owner", "tiles", "both", "middle", "2 * intermediate", "hidden"]},
//!   {kernel = "activate", when = "!FUSED", grid = ["tokens * topk"], block = ["128"], arguments = ["both", "place", "middle", "intermediate"]},
//!   {kernel = "narrow_rows", grid = ["min(tokens * topk, ceildiv(tokens * topk, BM) + experts) * ceildiv(hidden, BN)"], block = ["WARPS * 32"], shared = "STAGES * (BM + BN) * (BK + PAD) * 2", arguments = ["middle", "down", "owner", "tiles", "part", "hidden", "intermediate"]},
//!   {kernel = "combine", grid = ["tokens"], block = ["128"], arguments = ["part", "place", "share", "y", "topk", "hidden"]},
//! ]
//! reference = [
//!   {kernel = "reference_middle", grid = ["ceildiv(intermediate, 8)", "tokens * topk"], block = ["32", "8"], arguments = ["x", "draw", "gate_up", "middle", "experts", "topk", "hidden", "intermediate", "skew"]},
//!   {kernel = "reference", grid = ["ceildiv(hidden, 8)", "tokens"], block = ["32", "8"], arguments = ["middle", "draw", "share", "down", "y", "experts", "topk", "hidden", "intermediate", "skew"]},
//! ]
//! cost = {flops = "6 * tokens * topk * hidden * intermediate", bytes = "6 * min(tokens * topk, experts) * hidden * intermediate + 4 * tokens * hidden", cache_bytes = "6 * tokens * topk * hidden * intermediate * (1 / BM + 1 / BN) + tokens * topk * (8 * hidden + (FUSED ? 4 : 12) * intermediate)", pipe = "tensor"}
//! serves = {kernel = "fused_moe", dtype = "bf16", sizes = {tokens = "tokens", experts = "experts", topk = "topk", hidden = "hidden", intermediate = "intermediate"}, histogram = {draws = "draw", expert = "experts * draw / 32768 * (skew > 1 ? draw / 32768 : 1) * (skew > 2 ? draw / 32768 : 1)"}}
//! tile = {m = "BM", n = "BN", k = "BK", warps = "WARPS", stages = "STAGES", group_m = "GROUP"}
// Rows of gate_up alternate: gate, up, gate, up of an expert's columns, so that a thread of the
// first product holds both halves of what SiLU multiplies.
constexpr int warps_m = BM >= 64 && WARPS == 8 ? 4 : BM >= 32 ? 2 : 1;
constexpr int warps_n = WARPS / warps_m;
static_assert(BN / warps_n % 16 == 0, "a warp has no whole column of tensor tiles");

// skew 1: experts alike; 2, 3: the more, the more go to the first ones. Whole numbers, so that who
// counts assignments elsewhere gets the same ones.
__device__ __forceinline__ int expert_of(int draw, int experts, int skew) {
  u64 drawn = draw;
  u64 scaled = experts * drawn;
  for (int i = 1; i < skew; ++i) scaled *= drawn;
  return (int)(scaled >> (15 * skew));
}

// Where each assignment's row goes, experts one after another in whole tiles; the expert of each tile.
extern "C" __global__ void __launch_bounds__(1024)
    sort_rows(const int* __restrict__ draw, int* __restrict__ place, int* __restrict__ owner,
              int* __restrict__ tiles, int assignments, int experts, int skew) {
  __shared__ int count[256], first[256];
  for (int e = threadIdx.x; e < experts; e += 1024) count[e] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < assignments; i += 1024) {
    place[i] = atomicAdd(count + expert_of(draw[i], experts, skew), 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int e = 0; e < experts; ++e) {
      first[e] = total;
      total += (count[e] + BM - 1) / BM;
    }
    *tiles = total;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += 1024) {
    for (int tile = 0; tile * BM < count[e]; ++tile) owner[first[e] + tile] = e;
  }
  for (int i = threadIdx.x; i < assignments; i += 1024) {
    place[i] += first[expert_of(draw[i], experts, skew)] * BM;
  }
}

extern "C" __global__ void __launch_bounds__(128)
    gather(const f16* __restrict__ x, const int* __restrict__ place, f16* __restrict__ rows,
           int topk, int hidden) {
  const f16* from = x + (u64)(blockIdx.x / topk) * hidden;
  f16* to = rows + (u64)place[blockIdx.x] * hidden;
  along_row<128, 8, 1>(hidden, [&](int i) { store<0>(to + i, load<0, f16, 8>(from + i)); });
}

// Tiles of rows times the transpose of their own expert's n x k weights.
template <class F>
__device__ __forceinline__ void expert_product(const f16* a, const f16* weights, const int* owner,
                                               const int* tiles, int n, int k, F finish) {
  const int tiles_m = *tiles, tiles_n = (n + BN - 1) / BN;
  if (blockIdx.x >= tiles_m * tiles_n) return;
  int tile_m, tile_n;
  grouped<GROUP>(blockIdx.x, tiles_m, tiles_n, tile_m, tile_n);
  tile_product<BM, BN, BK, STAGES, warps_m, warps_n, VEC, PAD>(
      a, weights + (u64)owner[tile_m] * n * k, tiles_m * BM, n, k, tile_m * BM, tile_n * BN, finish);
}

__device__ __forceinline__ void store_pair(f16* to, float v, float w) {
  Pack<f16, 2> pair;
  pair.at[0] = narrow<f16>(v);
  pair.at[1] = narrow<f16>(w);
  store<0>(to, pair);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    widen_rows(const f16* __restrict__ rows, const f16* __restrict__ gate_up,
               const int* __restrict__ owner, const int* __restrict__ tiles,
               f16* __restrict__ both, f16* __restrict__ middle, int n, int k) {
  expert_product(rows, gate_up, owner, tiles, n, k, [&](int row, int column, float v, float w) {
    if (FUSED) middle[((u64)row * n + column) / 2] = narrow<f16>(silu(v) * w);
    else store_pair(both + (u64)row * n + column, v, w);
  });
}

extern "C" __global__ void __launch_bounds__(128)
    activate(const f16* __restrict__ both, const int* __restrict__ place,
             f16* __restrict__ middle, int intermediate) {
  const u64 row = place[blockIdx.x];
  along_row<128, 4, 1>(intermediate, [&](int i) {
    const auto pairs = load<0, f16, 8>(both + row * 2 * intermediate + 2 * i);
    Pack<f16, 4> to;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      to.at[e] = narrow<f16>(silu(widen(pairs.at[2 * e])) * widen(pairs.at[2 * e + 1]));
    }
    store<0>(middle + row * intermediate + i, to);
  });
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    narrow_rows(const f16* __restrict__ middle, const f16* __restrict__ down,
                const int* __restrict__ owner, const int* __restrict__ tiles,
                f16* __restrict__ part, int n, int k) {
  expert_product(middle, down, owner, tiles, n, k, [&](int row, int column, float v, float w) {
    store_pair(part + (u64)row * n + column, v, w);
  });
}

extern "C" __global__ void __launch_bounds__(128)
    combine(const f16* __restrict__ part, const int* __restrict__ place,
            const f16* __restrict__ share, f16* __restrict__ y, int topk, int hidden) {
  along_row<128, 8, 1>(hidden, [&](int i) {
    float sum[8] = {};
    for (int k = 0; k < topk; ++k) {
      const int assignment = blockIdx.x * topk + k;
      const auto from = load<0, f16, 8>(part + (u64)place[assignment] * hidden + i);
      const float own = widen(share[assignment]);
#pragma unroll
      for (int e = 0; e < 8; ++e) sum[e] += own * widen(from.at[e]);
    }
    Pack<f16, 8> to;
#pragma unroll
    for (int e = 0; e < 8; ++e) to.at[e] = narrow<f16>(sum[e]);
    store<0>(y + (u64)blockIdx.x * hidden + i, to);
  });
}

// A warp a number.
extern "C" __global__ void reference_middle(const f16* x, const int* draw, const f16* gate_up,
                                            f16* middle, int experts, int topk, int hidden,
                                            int intermediate, int skew) {
  const int j = blockIdx.x * 8 + threadIdx.y, assignment = blockIdx.y;
  if (j >= intermediate) return;
  const f16* row = x + (u64)(assignment / topk) * hidden;
  const u64 expert = expert_of(draw[assignment], experts, skew);
  const f16* gate = gate_up + (expert * 2 * intermediate + 2 * j) * hidden;
  float v = 0.0f, w = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) {
    v += widen(row[i]) * widen(gate[i]);
    w += widen(row[i]) * widen(gate[hidden + i]);
  }
  v = warp_reduce<Sum>(v);
  w = warp_reduce<Sum>(w);
  if (threadIdx.x == 0) middle[(u64)assignment * intermediate + j] = narrow<f16>(silu(v) * w);
}
extern "C" __global__ void reference(const f16* middle, const int* draw, const f16* share,
                                     const f16* down, f16* y, int experts, int topk, int hidden,
                                     int intermediate, int skew) {
  const int column = blockIdx.x * 8 + threadIdx.y, token = blockIdx.y;
  if (column >= hidden) return;
  float all = 0.0f;
  for (int k = 0; k < topk; ++k) {
    const int assignment = token * topk + k;
    const u64 expert = expert_of(draw[assignment], experts, skew);
    const f16* weights = down + (expert * hidden + column) * intermediate;
    const f16* from = middle + (u64)assignment * intermediate;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < intermediate; i += 32) sum += widen(from[i]) * widen(weights[i]);
    all += widen(share[assignment]) * widen(narrow<f16>(warp_reduce<Sum>(sum)));
  }
  if (threadIdx.x == 0) y[(u64)token * hidden + column] = narrow<f16>(all);
}
