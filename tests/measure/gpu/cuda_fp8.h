// 8-bit floats, as far as calibration/measure uses them; see cuda_runtime.h beside this file.
#ifndef FORETOKEN_RECORDED_CUDA_FP8
#define FORETOKEN_RECORDED_CUDA_FP8

#include "cuda_runtime.h"

struct __nv_fp8_e4m3 {
  unsigned char bits;
  __nv_fp8_e4m3() = default;
  explicit __host__ __device__ __nv_fp8_e4m3(float value);
};

#endif
