// What the device process itself runs beside candidates: it fills inputs, compares outputs with the
// reference and looks whether anybody wrote beyond an output's end.
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ u32 hashed(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}
__device__ float uniform(u64 i, u32 seed) {
  return (float)(hashed((u32)i ^ hashed(seed + (u32)(i >> 32))) >> 8) * (2.0f / 16777216.0f) - 1.0f;
}
__device__ unsigned short half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ float widened(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

extern "C" __global__ void fill_f32(float* to, u64 n, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (u64)blockDim.x) {
    to[i] = uniform(i, seed);
  }
}
extern "C" __global__ void fill_f16(unsigned short* to, u64 n, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (u64)blockDim.x) {
    to[i] = half_bits(uniform(i, seed));
  }
}
extern "C" __global__ void fill_index(int* to, u64 n, u32 seed, u32 below) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (u64)blockDim.x) {
    to[i] = (int)(hashed((u32)i ^ hashed(seed)) % below);
  }
}

__device__ float value(const float* x, u64 i) { return x[i]; }
__device__ float value(const unsigned short* x, u64 i) { return widened(x[i]); }
__device__ float value(const int* x, u64 i) { return (float)x[i]; }
__device__ float value(const signed char* x, u64 i) { return (float)x[i]; }

// result[0] counts elements off by more than tolerance * (scale + |reference|), NaN among them.
template <class T>
__device__ void compare(const T* mine, const T* reference, u64 n, float tolerance, float scale,
                        u32* result) {
  u32 wrong = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (u64)blockDim.x) {
    const float a = value(mine, i), b = value(reference, i);
    if (!(fabsf(a - b) <= tolerance * (scale + fabsf(b)))) ++wrong;
  }
  if (wrong != 0) atomicAdd(result, wrong);
}
extern "C" __global__ void compare_f32(const float* a, const float* b, u64 n, float tolerance,
                                       float scale, u32* result) {
  compare(a, b, n, tolerance, scale, result);
}
extern "C" __global__ void compare_f16(const unsigned short* a, const unsigned short* b, u64 n,
                                       float tolerance, float scale, u32* result) {
  compare(a, b, n, tolerance, scale, result);
}
extern "C" __global__ void compare_i32(const int* a, const int* b, u64 n, float tolerance,
                                       float scale, u32* result) {
  compare(a, b, n, tolerance, scale, result);
}
extern "C" __global__ void compare_i8(const signed char* a, const signed char* b, u64 n,
                                      float tolerance, float scale, u32* result) {
  compare(a, b, n, tolerance, scale, result);
}
// result[0] counts bytes of the guard after an output that are no longer 0xa5.
extern "C" __global__ void check_guard(const unsigned char* guard, u64 n, u32* result) {
  for (u64 i = threadIdx.x; i < n; i += blockDim.x) {
    if (guard[i] != 0xa5) atomicAdd(result, 1u);
  }
}
