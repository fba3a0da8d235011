// What calibration/measure uses of CUDA's runtime, declared so that clang compiles its sources where no
// CUDA toolkit is: types, calls (tests/measure/recorded_runtime.cpp defines them) and, for the text of
// kernels, what the compiler and the GPU know by themselves. Kernels are parsed and type-checked; what runs
// in their place takes the time that was recorded. Included before everything else where clang compiles
// CUDA: kernels' own versions of C's functions come before C's.
#ifndef FORETOKEN_RECORDED_CUDA_RUNTIME
#define FORETOKEN_RECORDED_CUDA_RUNTIME

#ifdef __CUDA__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
__device__ float sqrtf(float), fminf(float, float), fmaxf(float, float), fmaf(float, float, float);
#else
#define __device__
#define __host__
#endif
#include <cmath>
#include <cstddef>
#include <cstdint>

struct dim3 {
  unsigned x, y, z;
  constexpr __host__ __device__ dim3(unsigned across = 1, unsigned down = 1, unsigned deep = 1)
      : x(across), y(down), z(deep) {}
};
struct uint3 {
  unsigned x, y, z;
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNoDevice = 100,
  cudaErrorIllegalAddress = 700
};
enum cudaMemcpyKind : int { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaStreamCaptureMode : int { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaGraphNodeType : int { cudaGraphNodeTypeKernel = 0, cudaGraphNodeTypeMemset = 2 };
enum cudaFuncAttribute : int { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr : int {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaDriverEntryPointQueryResult : int { cudaDriverEntryPointSuccess = 0 };
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned long long cudaEnableDefault = 0;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor, multiProcessorCount, l2CacheSize;
};

extern "C" {
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** address, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result);
cudaError_t cudaGetLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream);
// What a compiled launch and a compiled file's list of kernels call.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                     void* stream = nullptr);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream);
}

cudaError_t recorded_malloc(void** memory, std::size_t bytes);
cudaError_t recorded_malloc_host(void** memory, std::size_t bytes);
cudaError_t recorded_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value);

template <typename T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return recorded_malloc(reinterpret_cast<void**>(memory), bytes);
}
template <typename T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes) {
  return recorded_malloc_host(reinterpret_cast<void**>(memory), bytes);
}
template <typename T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return recorded_function_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

#ifdef __CUDA__
extern const __device__ dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T>
__device__ T __ldcg(const T*);
template <class T>
__device__ T __ldcs(const T*);
template <class T>
__device__ void __stcs(T*, T);
template <class T>
__device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T>
__device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
__device__ void __syncthreads();
__device__ long long clock64();
__device__ float __expf(float), __logf(float), rsqrtf(float);
__device__ void __sincosf(float, float*, float*);
__device__ std::size_t __cvta_generic_to_shared(const void*);
#endif

#endif
