// What calibration/measure/launch_identity.cpp uses of CUDA's driver interface; tests/measure/
// recorded_driver.cpp hands out the functions.
#pragma once

#include "cuda_runtime.h"

enum CUresult : int { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4
};
enum CUlaunchAttributeID : int { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };
union CUlaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim;
};

using CUgraphNode = cudaGraphNode_t;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUkernel kern;
};
