//! summary = "causal convolution of width 4 along time for every channel, then SiLU, fp16; two launches or one"
//! level = 2
//! dims = ["length", "channels"]
//! shapes = [[64, 512], [256, 1024], [512, 2048], [1024, 1024], [2048, 512], [2048, 2048], [4096, 1024], [4096, 4096], [8192, 2048], [8192, 4096]]
//! tolerance = 3e-3
//! parameters = [
//!   {name = "WIDTH", strategy = "tiling", values = [32, 64, 128, 256], start = 64},
//!   {name = "STEPS", strategy = "tiling", values = [1, 4, 16, 64], start = 1},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2, 4, 8], start = 1},
//!   {name = "FUSED", strategy = "fusion", values = [0, 1], start = 0},
//!   {name = "UNROLL", strategy = "pipeline", values = [1, 4], start = 1},
//!   {name = "ROLLING", strategy = "reordering", values = [0, 1], start = 0},
//! ]
//! buffers = [
//!   {name = "x", type = "f16", count = "length * channels", fill = "uniform"},
//!   {name = "weight", type = "f32", count = "4 * channels", fill = "uniform"},
//!   {name = "middle", type = "f32", count = "length * channels", role = "scratch"},
//!   {name = "y", type = "f16", count = "length * channels", role = "output"},
//! ]
//! launches = [
//!   {kernel = "fused", when = "FUSED", grid = ["ceildiv(channels, WIDTH * VEC)", "ceildiv(length, STEPS)"], block = ["WIDTH"], arguments = ["x", "weight", "y", "length", "channels"]},
//!   {kernel = "convolve", when = "!FUSED", grid = ["ceildiv(channels, WIDTH * VEC)", "ceildiv(length, STEPS)"], block = ["WIDTH"], arguments = ["x", "weight", "middle", "length", "channels"]},
//!   {kernel = "activate", when = "!FUSED", grid = ["ceildiv(length * channels, 256)"], block = ["256"], arguments = ["middle", "y", "length * channels"]},
//! ]
//! reference = [{kernel = "reference", grid = ["ceildiv(length * channels, 256)"], block = ["256"], arguments = ["x", "weight", "y", "length", "channels"]}]
//! cost = {flops = "12 * length * channels", bytes = "4 * length * channels", cache_bytes = "length * channels * ((FUSED ? 2 : 10) + 2 * (ROLLING ? 1 + 3 / STEPS : 4))", pipe = "fma"}
// ROLLING keeps the last three inputs in registers, else all four are read for each output.
template <class T>
__device__ __forceinline__ void along_time(const f16* __restrict__ x,
                                           const float* __restrict__ weight, T* __restrict__ y,
                                           int length, int channels) {
  const int channel = (blockIdx.x * WIDTH + threadIdx.x) * VEC;
  if (channel >= channels) return;
  Pack<float, VEC> w[4];
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) w[tap] = load<0, float, VEC>(weight + tap * channels + channel);
  auto input = [&](int t) {
    Pack<f16, VEC> a = {};
    if (t >= 0) a = load<0, f16, VEC>(x + (u64)t * channels + channel);
    return a;
  };
  const int first = blockIdx.y * STEPS;
  Pack<f16, VEC> past[3];
  if (ROLLING) {
#pragma unroll
    for (int i = 0; i < 3; ++i) past[i] = input(first - 3 + i);
  }
#pragma unroll UNROLL
  for (int t = first; t < min(length, first + STEPS); ++t) {
    if (!ROLLING) {
#pragma unroll
      for (int i = 0; i < 3; ++i) past[i] = input(t - 3 + i);
    }
    const auto now = input(t);
    Pack<T, VEC> c;
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      const float sum = widen(past[0].at[e]) * w[0].at[e] + widen(past[1].at[e]) * w[1].at[e] +
                        widen(past[2].at[e]) * w[2].at[e] + widen(now.at[e]) * w[3].at[e];
      c.at[e] = narrow<T>(FUSED ? silu(sum) : sum);
    }
    store<0>(y + (u64)t * channels + channel, c);
    past[0] = past[1];
    past[1] = past[2];
    past[2] = now;
  }
}
#if FUSED
extern "C" __global__ void __launch_bounds__(WIDTH)
    fused(const f16* x, const float* weight, f16* y, int length, int channels) {
  along_time(x, weight, y, length, channels);
}
#else
extern "C" __global__ void __launch_bounds__(WIDTH)
    convolve(const f16* x, const float* weight, float* middle, int length, int channels) {
  along_time(x, weight, middle, length, channels);
}
extern "C" __global__ void activate(const float* middle, f16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = narrow<f16>(silu(middle[i]));
}
#endif

extern "C" __global__ void reference(const f16* x, const float* weight, f16* y, int length,
                                     int channels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length * channels) return;
  const int t = i / channels, channel = i % channels;
  float sum = 0.0f;
  for (int tap = 0; tap < 4; ++tap) {
    if (t - 3 + tap >= 0) sum += widen(x[i - (3 - tap) * channels]) * weight[tap * channels + channel];
  }
  y[i] = narrow<f16>(sum / (1.0f + expf(-sum)));
}
