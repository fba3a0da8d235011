//! summary = "attention of short sequences, head width 64, fp16; scores through memory, or one pass with running maxima"
//! level = 2
//! dims = ["heads", "length"]
//! shapes = [[8, 64], [32, 64], [128, 64], [16, 128], [64, 128], [256, 128], [16, 256], [64, 256], [16, 512], [64, 512]]
//! tolerance = 4e-3
//! parameters = [
//!   {name = "ROWS", strategy = "tiling", values = [4, 8, 16, 32], start = 4},
//!   {name = "KEYS", strategy = "tiling", values = [32, 64], start = 32},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "STAGES", strategy = "pipeline", values = [1, 2], start = 1},
//!   {name = "PER_WARP", strategy = "reordering", values = [1, 2, 4], start = 1},
//!   {name = "PAD", strategy = "access_layout", values = [0, 8], start = 0},
//! ]
//! buffers = [
//!   {name = "query", type = "f16", count = "heads * length * 64", fill = "uniform"},
//!   {name = "key", type = "f16", count = "heads * length * 64", fill = "uniform"},
//!   {name = "value", type = "f16", count = "heads * length * 64", fill = "uniform"},
//!   {name = "scores", type = "f32", count = "heads * length * length", role = "scratch"},
//!   {name = "y", type = "f16", count = "heads * length * 64", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ceildiv(length, ROWS)", "heads"], block = ["32", "ROWS / PER_WARP"], arguments = ["query", "key", "value", "y", "length"]},
//!   {kernel = "score", when = "!FUSED", grid = ["ceildiv(length, ROWS)", "heads"], block = ["32", "ROWS / PER_WARP"], arguments = ["query", "key", "scores", "length"]},
//!   {kernel = "normalise", when = "!FUSED", grid = ["ceildiv(heads * length, 4)"], block = ["32", "4"], arguments = ["scores", "heads * length", "length"]},
//!   {kernel = "mix_values", when = "!FUSED", grid = ["ceildiv(length, ROWS)", "heads"], block = ["32", "ROWS / PER_WARP"], arguments = ["scores", "value", "y", "length"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(length, 8)", "heads"], block = ["32", "8"], shared = "8 * length * 4", arguments = ["query", "key", "value", "y", "length"]}]
//! cost = {flops = "4 * heads * length * length * 64", bytes = "8 * heads * length * 64", cache_bytes = "heads * length * (256 + 256 * length / ROWS + (FUSED ? 0 : 16 * length))", pipe = "fma"}
//! serves = {kernel = "attention", dtype = "bf16", causal = "false", sizes = {query_heads = "heads", kv_heads = "heads", head_dim = "64", query_tokens = ["length"], context_tokens = ["length"]}}
// A warp has PER_WARP queries; of a tile of KEYS keys a lane scores every 32nd, and of the result
// it holds two columns. Tiles of keys and values pass through shared memory, STAGES at a time.
constexpr int stride = 64 + PAD;
constexpr int warps = ROWS / PER_WARP;
constexpr int copied = PAD % VEC == 0 ? VEC : 2;  // rows have to stay aligned for the copies
__device__ __forceinline__ void fetch(f16* to, const f16* from, int first, int length) {
  const int thread = threadIdx.y * 32 + threadIdx.x;
  for (int i = thread * copied; i < KEYS * 64; i += warps * 32 * copied) {
    const int row = i / 64, column = i % 64;
    const bool inside = first + row < length;
    if (copied * 2 >= 4) {
      copy_async<(copied * 2 >= 4 ? copied * 2 : 4)>(
          to + row * stride + column, inside ? from + (u64)(first + row) * 64 + column : from,
          inside);
    } else {
      f16 zero = {0};
      to[row * stride + column] = inside ? from[(u64)(first + row) * 64 + column] : zero;
    }
  }
}
__device__ __forceinline__ float dot(const float* query, const f16* key) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 64; i += 2) {
    const auto pair = load<0, f16, 2>(key + i);
    sum += query[i] * widen(pair.at[0]) + query[i + 1] * widen(pair.at[1]);
  }
  return sum * 0.125f;
}
// This block's queries, as floats, in shared memory.
__device__ __forceinline__ void stage_queries(float (*to)[64], const f16* query, int length) {
  const int thread = threadIdx.y * 32 + threadIdx.x;
  for (int i = thread; i < ROWS * 64; i += warps * 32) {
    const int row = min((int)blockIdx.x * ROWS + i / 64, length - 1);
    to[i / 64][i % 64] = widen(query[(u64)row * 64 + i % 64]);
  }
}
#if FUSED
extern "C" __global__ void __launch_bounds__(warps * 32)
    fused(const f16* __restrict__ query, const f16* __restrict__ key,
          const f16* __restrict__ value, f16* __restrict__ y, int length) {
  __shared__ __align__(16) f16 keys[STAGES][KEYS * stride];
  __shared__ __align__(16) f16 values[STAGES][KEYS * stride];
  __shared__ float queries[ROWS][64];
  __shared__ float weights[warps][PER_WARP][KEYS];
  const u64 base = (u64)blockIdx.y * length * 64;
  stage_queries(queries, query + base, length);
  const int lane = threadIdx.x, warp = threadIdx.y;
  float top[PER_WARP], sum[PER_WARP], out[PER_WARP][2];
#pragma unroll
  for (int q = 0; q < PER_WARP; ++q) {
    top[q] = -1e30f;
    sum[q] = out[q][0] = out[q][1] = 0.0f;
  }
  const int tiles = (length + KEYS - 1) / KEYS;
  auto both = [&](int tile) {
    if (tile < tiles) {
      fetch(keys[tile % STAGES], key + base, tile * KEYS, length);
      fetch(values[tile % STAGES], value + base, tile * KEYS, length);
    }
    copy_commit();
  };
  if (STAGES == 2) both(0);
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    both(STAGES == 2 ? tile + 1 : tile);
    copy_wait<STAGES - 1>();
    __syncthreads();
    const f16* own_keys = keys[tile % STAGES];
    const f16* own_values = values[tile % STAGES];
#pragma unroll
    for (int q = 0; q < PER_WARP; ++q) {
      float score[KEYS / 32], higher = top[q];
#pragma unroll
      for (int j = 0; j < KEYS / 32; ++j) {
        const int k = j * 32 + lane;
        score[j] = tile * KEYS + k < length
                       ? dot(queries[warp * PER_WARP + q], own_keys + k * stride)
                       : -1e30f;
        higher = fmaxf(higher, score[j]);
      }
      higher = warp_reduce<Max>(higher);
      const float shrink = __expf(top[q] - higher);
      float part = 0.0f;
#pragma unroll
      for (int j = 0; j < KEYS / 32; ++j) {
        const float w = __expf(score[j] - higher);
        weights[warp][q][j * 32 + lane] = w;
        part += w;
      }
      sum[q] = sum[q] * shrink + warp_reduce<Sum>(part);
      out[q][0] *= shrink;
      out[q][1] *= shrink;
      top[q] = higher;
    }
    __syncwarp();
    for (int k = 0; k < KEYS; ++k) {
      const auto pair = load<0, f16, 2>(own_values + k * stride + lane * 2);
#pragma unroll
      for (int q = 0; q < PER_WARP; ++q) {
        const float w = weights[warp][q][k];
        out[q][0] += w * widen(pair.at[0]);
        out[q][1] += w * widen(pair.at[1]);
      }
    }
  }
#pragma unroll
  for (int q = 0; q < PER_WARP; ++q) {
    const int row = blockIdx.x * ROWS + warp * PER_WARP + q;
    if (row >= length) continue;
    Pack<f16, 2> pair;
    pair.at[0] = narrow<f16>(out[q][0] / sum[q]);
    pair.at[1] = narrow<f16>(out[q][1] / sum[q]);
    store<0>(y + base + (u64)row * 64 + lane * 2, pair);
  }
}
#else
extern "C" __global__ void __launch_bounds__(warps * 32)
    score(const f16* __restrict__ query, const f16* __restrict__ key, float* __restrict__ scores,
          int length) {
  __shared__ __align__(16) f16 keys[STAGES][KEYS * stride];
  __shared__ float queries[ROWS][64];
  const u64 base = (u64)blockIdx.y * length * 64;
  stage_queries(queries, query + base, length);
  const int tiles = (length + KEYS - 1) / KEYS;
  auto one = [&](int tile) {
    if (tile < tiles) fetch(keys[tile % STAGES], key + base, tile * KEYS, length);
    copy_commit();
  };
  if (STAGES == 2) one(0);
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    one(STAGES == 2 ? tile + 1 : tile);
    copy_wait<STAGES - 1>();
    __syncthreads();
    for (int q = 0; q < PER_WARP; ++q) {
      const int row = blockIdx.x * ROWS + threadIdx.y * PER_WARP + q;
      for (int k = threadIdx.x; k < KEYS; k += 32) {
        if (row < length && tile * KEYS + k < length) {
          scores[((u64)blockIdx.y * length + row) * length + tile * KEYS + k] =
              dot(queries[threadIdx.y * PER_WARP + q], keys[tile % STAGES] + k * stride);
        }
      }
    }
  }
}
extern "C" __global__ void normalise(float* scores, int rows, int length) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float* from = scores + (u64)row * length;
  float top = Max::identity(), sum = 0.0f;
  for (int i = threadIdx.x; i < length; i += 32) top = fmaxf(top, from[i]);
  top = warp_reduce<Max>(top);
  for (int i = threadIdx.x; i < length; i += 32) sum += __expf(from[i] - top);
  sum = warp_reduce<Sum>(sum);
  for (int i = threadIdx.x; i < length; i += 32) from[i] = __expf(from[i] - top) / sum;
}
extern "C" __global__ void __launch_bounds__(warps * 32)
    mix_values(const float* __restrict__ scores, const f16* __restrict__ value,
               f16* __restrict__ y, int length) {
  __shared__ __align__(16) f16 values[STAGES][KEYS * stride];
  const u64 base = (u64)blockIdx.y * length * 64;
  const int tiles = (length + KEYS - 1) / KEYS;
  auto one = [&](int tile) {
    if (tile < tiles) fetch(values[tile % STAGES], value + base, tile * KEYS, length);
    copy_commit();
  };
  float out[PER_WARP][2] = {};
  if (STAGES == 2) one(0);
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    one(STAGES == 2 ? tile + 1 : tile);
    copy_wait<STAGES - 1>();
    __syncthreads();
    const int keys = min(KEYS, length - tile * KEYS);
    for (int k = 0; k < keys; ++k) {
      const auto pair = load<0, f16, 2>(values[tile % STAGES] + k * stride + threadIdx.x * 2);
#pragma unroll
      for (int q = 0; q < PER_WARP; ++q) {
        const int row = min((int)blockIdx.x * ROWS + (int)threadIdx.y * PER_WARP + q, length - 1);
        const float w = scores[((u64)blockIdx.y * length + row) * length + tile * KEYS + k];
        out[q][0] += w * widen(pair.at[0]);
        out[q][1] += w * widen(pair.at[1]);
      }
    }
  }
#pragma unroll
  for (int q = 0; q < PER_WARP; ++q) {
    const int row = blockIdx.x * ROWS + threadIdx.y * PER_WARP + q;
    if (row >= length) continue;
    Pack<f16, 2> pair;
    pair.at[0] = narrow<f16>(out[q][0]);
    pair.at[1] = narrow<f16>(out[q][1]);
    store<0>(y + base + (u64)row * 64 + threadIdx.x * 2, pair);
  }
}
#endif

// A warp a query.
extern "C" __global__ void reference(const f16* query, const f16* key, const f16* value, f16* y,
                                     int length) {
  float* weight = kept_row(length);
  const int row = blockIdx.x * 8 + threadIdx.y;
  if (row >= length) return;
  const u64 base = (u64)blockIdx.y * length * 64;
  float top = Max::identity(), sum = 0.0f;
  for (int k = threadIdx.x; k < length; k += 32) {
    float score = 0.0f;
    for (int i = 0; i < 64; ++i) {
      score += widen(query[base + row * 64 + i]) * widen(key[base + k * 64 + i]);
    }
    weight[k] = score / 8.0f;
    top = fmaxf(top, weight[k]);
  }
  top = warp_reduce<Max>(top);
  for (int k = threadIdx.x; k < length; k += 32) {
    weight[k] = expf(weight[k] - top);
    sum += weight[k];
  }
  sum = warp_reduce<Sum>(sum);
  __syncwarp();
  for (int i = threadIdx.x; i < 64; i += 32) {
    float out = 0.0f;
    for (int k = 0; k < length; ++k) out += weight[k] * widen(value[base + k * 64 + i]);
    y[base + row * 64 + i] = narrow<f16>(out / sum);
  }
}
