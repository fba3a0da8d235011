// What CUDA's compiler knows by itself and the suite's kernels use, declared for a compiler without
// CUDA's headers: enough for clang to parse and type-check them (tests/tune/check.sh, parses).
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct dim3 { unsigned x, y, z; };
extern const __device__ dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T> __device__ T __ldg(const T*);
template <class T> __device__ T __ldcs(const T*);
template <class T> __device__ void __stcs(T*, T);
template <class T> __device__ T atomicAdd(T*, T);
template <class T> __device__ T atomicMax(T*, T);
template <class T> __device__ T __shfl_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
__device__ unsigned __ballot_sync(unsigned, int);
__device__ void __syncthreads();
__device__ void __syncwarp(unsigned = 0xffffffffu);
__device__ void __threadfence();

__device__ float fmaxf(float, float), fminf(float, float), fabsf(float), sqrtf(float), rsqrtf(float);
__device__ float expf(float), __expf(float), logf(float), __logf(float), tanhf(float), rintf(float);
__device__ float exp2f(float), log2f(float), powf(float, float), sinf(float), cosf(float), __fdividef(float, float);
__device__ float __int_as_float(int), __uint_as_float(unsigned);
__device__ int __float_as_int(float), __float2int_rn(float), min(int, int), max(int, int);
__device__ unsigned min(unsigned, unsigned), max(unsigned, unsigned), __float_as_uint(float);
__device__ int __popc(unsigned), __clz(int);
__device__ unsigned long __cvta_generic_to_shared(const void*);
__device__ float fmaf(float, float, float), __frcp_rn(float);
