// 16-bit brain floats, as far as calibration/measure uses them; see cuda_runtime.h beside this file.
#ifndef FORETOKEN_RECORDED_CUDA_BF16
#define FORETOKEN_RECORDED_CUDA_BF16

#include "cuda_runtime.h"

struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  explicit __host__ __device__ __nv_bfloat16(float value);
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
__host__ __device__ float __bfloat162float(__nv_bfloat16);
__host__ __device__ __nv_bfloat16 __float2bfloat16(float);

#endif
