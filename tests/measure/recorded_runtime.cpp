// CUDA's runtime interface on the recorded GPU: devices, memory, streams, events and the launch of
// kernels that clang compiled.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "tests/measure/gpu/cuda_profiler_api.h"
#include "tests/measure/recorded_gpu.hpp"

namespace foretoken::recorded {
namespace {

constexpr std::size_t memory_bytes = std::size_t{140} << 30, free_bytes = std::size_t{130} << 30;
constexpr std::size_t touched_bytes_max = std::size_t{4} << 20;  // larger contents nobody reads
constexpr std::size_t page_bytes = 4096;

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

/// Mangled names by the address of the host's stub.
std::map<const void*, std::string>& kernel_names() {
  static std::map<const void*, std::string> names;
  return names;
}

/// What is between <<< and >>>, until the stub fetches it.
struct Configuration {
  dim3 grid, block;
  std::size_t shared = 0;
  void* stream = nullptr;
};
thread_local Configuration configuration;

int device_count() {
  return has_fault("no_gpu") ? 0 : static_cast<int>(Recording::get().said_number("gpus", 1));
}

/// Memory that costs nothing until it is touched; its size stands on a page before it.
void* reserved(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes + page_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  *static_cast<std::size_t*>(memory) = bytes + page_bytes;
  return static_cast<char*>(memory) + page_bytes;
}

cudaError_t allocate(void** memory, std::size_t bytes, const char* function) {
  if (const int error = fault_of(function); error != 0) return failed(error);
  *memory = reserved(bytes);
  return *memory == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t release(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  void* const start = static_cast<char*>(memory) - page_bytes;
  munmap(start, *static_cast<std::size_t*>(start));
  return cudaSuccess;
}

}  // namespace

cudaError_t failed(int code) { return last_error = static_cast<cudaError_t>(code); }

}  // namespace foretoken::recorded

using namespace foretoken::recorded;

cudaError_t recorded_malloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, "cudaMalloc");
}
cudaError_t recorded_malloc_host(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, "cudaMallocHost");
}
cudaError_t recorded_function_attribute(const void* kernel, cudaFuncAttribute, int) {
  return kernel_names().contains(kernel) ? cudaSuccess : failed(cudaErrorInvalidValue);
}

extern "C" {

void** __cudaRegisterFatBinary(void* binary) { return static_cast<void**>(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const void* stub, char*, const char* name, int, void*, void*,
                            void*, void*, int*) {
  kernel_names()[stub] = name;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<void**>(stream) = configuration.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  if (const int error = fault_of("cudaLaunchKernel"); error != 0) return failed(error);
  Launched launched{
      .name = kernel_names().at(kernel), .grid = grid, .block = block, .shared = shared};
  const std::string shown = shown_name(launched.name);
  launched.pointers = pointers_of(shown, arguments);
  const Piece* const piece = Recording::get().kernel(shown, extent_text(grid), extent_text(block));
  if (piece != nullptr)
    launched.piece = *piece;
  else
    run_unrecorded(shown, arguments, launched, stream);
  enqueue(stream, std::move(launched));
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  if (error != cudaErrorIllegalAddress) last_error = cudaSuccess;
  return error;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorInvalidValue";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "nothing like it was recorded" : "asked for by the test";
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return failed(cudaErrorNoDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const Recording& recording = Recording::get();
  const std::string capability = recording.said("compute_capability", "9.0");
  std::snprintf(properties->name, sizeof properties->name, "%s",
                recording.said("gpu", "recorded GPU").c_str());
  properties->totalGlobalMem = memory_bytes;
  properties->major = std::stoi(capability);
  properties->minor = std::stoi(capability.substr(capability.find('.') + 1));
  properties->multiProcessorCount = static_cast<int>(recording.said_number("sm_count", 132));
  properties->l2CacheSize = static_cast<int>(recording.said_number("l2_bytes", 50 << 20));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount
               ? static_cast<int>(Recording::get().said_number("sm_count", 132))
               : 227 << 10;  // a block's shared memory on Hopper
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = Recording::get().said("peer_access", "all pairs") == "all pairs" ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() {
  return last_error == cudaErrorIllegalAddress ? last_error : cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = free_bytes;
  *total = memory_bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) { return release(memory); }
cudaError_t cudaFreeHost(void* memory) { return release(memory); }
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, std::min(bytes, touched_bytes_max));
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (const int error = fault_of("cudaMemcpy"); error != 0) return failed(error);
  std::memcpy(to, from, std::min(bytes, touched_bytes_max));
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st{.device = current_device};
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  const int error = fault_of("cudaStreamSynchronize");
  return error == 0 ? cudaSuccess : failed(error);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->us = stream->now_us;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = static_cast<float>((stop->us - start->us) / 1000);
  return cudaSuccess;
}

}  // extern "C"
