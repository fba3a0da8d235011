// Fills and hands out the device memory of measured kernels.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "arena.hpp"

namespace foretoken::measure {
namespace {

constexpr std::size_t alignment = 1024;
constexpr std::size_t index_bytes = std::size_t{256} << 20;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

__device__ std::uint32_t mixed(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 16);
}

/// Two independent N(0, 1) from one counter (Box and Muller).
__device__ float2 normal_pair(std::uint64_t counter) {
  const float u = (mixed(2 * counter * 0x9e3779b97f4a7c15ull) + 1.0f) * 2.3283e-10f;
  const float v = mixed((2 * counter + 1) * 0x9e3779b97f4a7c15ull) * 2.3283e-10f;
  const float radius = sqrtf(-2.0f * __logf(fminf(u, 1.0f)));
  float sine, cosine;
  __sincosf(6.2831853f * v, &sine, &cosine);
  return {radius * cosine, radius * sine};
}

template <typename Element>
__global__ void fill_normal(Element* out, std::size_t pairs) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pairs; i += stride) {
    const float2 value = normal_pair(i);
    out[2 * i] = Element(value.x);
    out[2 * i + 1] = Element(value.y);
  }
}

__global__ void fill_indices(std::int32_t* out, std::size_t count, std::int32_t bound) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    out[i] = static_cast<std::int32_t>(mixed((i + 1) * 0x9e3779b97f4a7c15ull) %
                                       static_cast<std::uint32_t>(bound));
}

}  // namespace

Arena::Arena(const Gpu& gpu, double input_gb) : gpu_(gpu), index_capacity_(index_bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the free memory");
  const auto share = [&](double gb, std::size_t tenths) {
    return std::min(static_cast<std::size_t>(gb * 1e9), free / 10 * tenths) / alignment * alignment;
  };
  input_capacity_ = share(input_gb, 4);
  output_capacity_ = share(input_gb / 2, 2);
  check(cudaMalloc(&input_, input_capacity_), "allocating the inputs");
  check(cudaMalloc(&output_, output_capacity_), "allocating the outputs");
  check(cudaMalloc(&indices_, index_capacity_), "allocating the indices");
  check(cudaMemset(output_, 0, output_capacity_), "clearing the outputs");
}

Arena::~Arena() {
  cudaFree(input_);
  cudaFree(output_);
  cudaFree(indices_);
}

void Arena::fill(Fill format) {
  const int grid = 8 * gpu_.sm_count;
  if (format == Fill::bf16)
    fill_normal<<<grid, 256, 0, gpu_.stream>>>(reinterpret_cast<__nv_bfloat16*>(input_),
                                               input_capacity_ / 4);
  else
    fill_normal<<<grid, 256, 0, gpu_.stream>>>(reinterpret_cast<__nv_fp8_e4m3*>(input_),
                                               input_capacity_ / 2);
  check(cudaGetLastError(), "filling the inputs");
  check(cudaStreamSynchronize(gpu_.stream), "filling the inputs");
}

int Arena::capacity(const Footprint& footprint) const {
  const auto room = [](std::size_t capacity, std::size_t used, std::size_t bytes) {
    if (used > capacity) return std::size_t{0};
    return bytes == 0 ? std::size_t{1} << 20 : (capacity - used) / aligned(bytes);
  };
  const std::size_t launches =
      std::min({room(input_capacity_, aligned(footprint.shared_bytes), footprint.input_bytes),
                room(output_capacity_, 0, footprint.output_bytes),
                room(index_capacity_, 0, footprint.index_count * sizeof(std::int32_t)),
                std::size_t{1} << 20});
  return static_cast<int>(launches);
}

Buffers Arena::buffers(const Footprint& footprint, int index) const {
  const auto i = static_cast<std::size_t>(index);
  return {.shared = input_,
          .input = input_ + aligned(footprint.shared_bytes) + i * aligned(footprint.input_bytes),
          .output = output_ + i * aligned(footprint.output_bytes),
          .indices = indices_ + i * aligned(footprint.index_count * sizeof(std::int32_t)) /
                                    sizeof(std::int32_t)};
}

void Arena::draw_indices(const Footprint& footprint, int launches) {
  if (footprint.index_count == 0) return;
  const std::size_t count = aligned(footprint.index_count * sizeof(std::int32_t)) /
                            sizeof(std::int32_t) * static_cast<std::size_t>(launches);
  fill_indices<<<gpu_.sm_count, 256, 0, gpu_.stream>>>(indices_, count, footprint.index_bound);
  check(cudaGetLastError(), "drawing indices");
}

}  // namespace foretoken::measure
