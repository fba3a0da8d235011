// Start and stop of an outside profiler; see cuda_runtime.h beside this file.
#pragma once

#include "cuda_runtime.h"

extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
