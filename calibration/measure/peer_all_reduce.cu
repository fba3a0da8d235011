// Blocks of the same index meet across the GPUs by flags in peer memory: each rank writes the turn
// number into its slot of every peer's flags and waits until all its own slots have reached it.
// Turns only grow, so a flag never has to be cleared.
#include <algorithm>

#include "packed.cuh"
#include "peer_all_reduce.hpp"

namespace foretoken::measure {
namespace {

constexpr int blocks_max = 36, threads = 512;  // enough loads in flight to fill NVLink, few SMs

struct Peers {
  const Packed* in[peer_ranks_max];
  Packed* scratch[peer_ranks_max];
  unsigned* flags[peer_ranks_max];
};

__device__ void store_release(unsigned* at, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

__device__ unsigned load_acquire(const unsigned* at) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

/// Waits until this block of every rank is here, and sees what they wrote before.
template <int ranks>
__device__ void meet(const Peers& peers, int rank, unsigned turn) {
  __syncthreads();
  if (threadIdx.x < ranks) {
    const int peer = static_cast<int>(threadIdx.x);
    store_release(peers.flags[peer] + blockIdx.x * peer_ranks_max + rank, turn);
    const unsigned* const mine = peers.flags[rank] + blockIdx.x * peer_ranks_max + peer;
    while (static_cast<int>(load_acquire(mine) - turn) < 0) {
    }
  }
  __syncthreads();
}

template <int ranks>
__device__ Packed sum_of_peers(const Peers& peers, std::size_t at) {
  Packed packs[ranks];
#pragma unroll
  for (int peer = 0; peer < ranks; ++peer) packs[peer] = peers.in[peer][at];
  Packed result;
#pragma unroll
  for (int i = 0; i < Packed::size; ++i) {
    float sum = 0;
#pragma unroll
    for (int peer = 0; peer < ranks; ++peer) sum += packs[peer].get(i);
    result.set(i, sum);
  }
  return result;
}

template <int ranks>
__global__ void __launch_bounds__(threads)
    one_shot_kernel(Peers peers, Packed* out, int rank, std::size_t packs, unsigned* turns) {
  const unsigned turn = turns[blockIdx.x];
  meet<ranks>(peers, rank, turn + 1);
  const std::size_t stride = std::size_t{gridDim.x} * threads;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < packs; i += stride)
    out[i] = sum_of_peers<ranks>(peers, i);
  meet<ranks>(peers, rank, turn + 2);  // the inputs may change from here on
  if (threadIdx.x == 0) turns[blockIdx.x] = turn + 2;
}

/// A thread gathers from the peers what the thread of the same index reduced there, so that the
/// meeting of equal blocks is enough.
template <int ranks>
__global__ void __launch_bounds__(threads)
    two_shot_kernel(Peers peers, Packed* out, int rank, std::size_t packs, unsigned* turns) {
  const unsigned turn = turns[blockIdx.x];
  const std::size_t slice = (packs + ranks - 1) / ranks;
  const std::size_t stride = std::size_t{gridDim.x} * threads;
  const std::size_t first = std::size_t{blockIdx.x} * threads + threadIdx.x;
  meet<ranks>(peers, rank, turn + 1);
  for (std::size_t i = first; i < slice && rank * slice + i < packs; i += stride)
    peers.scratch[rank][i] = sum_of_peers<ranks>(peers, rank * slice + i);
  meet<ranks>(peers, rank, turn + 2);
  for (std::size_t i = first; i < slice; i += stride) {
#pragma unroll
    for (int step = 0; step < ranks; ++step) {
      const int peer = (rank + step) % ranks;
      if (peer * slice + i < packs) out[peer * slice + i] = peers.scratch[peer][i];
    }
  }
  if (threadIdx.x == 0) turns[blockIdx.x] = turn + 2;
}

template <int ranks>
void start(bool one_shot, int blocks, const Rank& rank, const Peers& peers, Packed* out,
           std::size_t packs, unsigned* turns) {
  if (one_shot)
    one_shot_kernel<ranks>
        <<<blocks, threads, 0, rank.stream>>>(peers, out, rank.index, packs, turns);
  else
    two_shot_kernel<ranks>
        <<<blocks, threads, 0, rank.stream>>>(peers, out, rank.index, packs, turns);
}

template <typename T>
T* allocated(std::size_t bytes) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocating for peer kernels");
  check(cudaMemset(memory, 0, bytes), "clearing for peer kernels");
  return memory;
}

}  // namespace

PeerAllReduce::PeerAllReduce(std::vector<CommBuffers> buffers, std::size_t bytes_max)
    : buffers_(std::move(buffers)), bytes_max_(bytes_max) {
  for (std::size_t rank = 0; rank < buffers_.size(); ++rank) {
    check(cudaSetDevice(static_cast<int>(rank)), "choosing a GPU");
    scratch_.push_back(allocated<std::byte>(bytes_max));
    flags_.push_back(allocated<unsigned>(blocks_max * peer_ranks_max * sizeof(unsigned)));
    turns_.push_back(allocated<unsigned>(blocks_max * sizeof(unsigned)));
    check(cudaDeviceSynchronize(), "clearing for peer kernels");
  }
}

PeerAllReduce::~PeerAllReduce() {
  for (std::size_t rank = 0; rank < buffers_.size(); ++rank) {
    cudaFree(scratch_[rank]);
    cudaFree(flags_[rank]);
    cudaFree(turns_[rank]);
  }
}

void PeerAllReduce::launch(const Rank& rank, const CommBuffers& buffers, std::size_t bytes,
                           bool one_shot) const {
  Peers peers = {};
  for (std::size_t peer = 0; peer < buffers_.size(); ++peer) {
    peers.in[peer] = reinterpret_cast<const Packed*>(buffers_[peer].in);
    peers.scratch[peer] = reinterpret_cast<Packed*>(scratch_[peer]);
    peers.flags[peer] = flags_[peer];
  }
  const std::size_t packs = bytes / sizeof(Packed);
  const std::size_t share = one_shot ? packs : (packs + buffers_.size() - 1) / buffers_.size();
  const int blocks =
      static_cast<int>(std::clamp<std::size_t>((share + threads - 1) / threads, 1, blocks_max));
  auto* const out = reinterpret_cast<Packed*>(buffers.out);
  unsigned* const turns = turns_[static_cast<std::size_t>(rank.index)];
  if (buffers_.size() == 2)
    start<2>(one_shot, blocks, rank, peers, out, packs, turns);
  else if (buffers_.size() == 4)
    start<4>(one_shot, blocks, rank, peers, out, packs, turns);
  else
    start<8>(one_shot, blocks, rank, peers, out, packs, turns);
  check(cudaGetLastError(), "launching an all-reduce over peers");
}

std::vector<CommCall> PeerAllReduce::calls() const {
  std::vector<CommCall> calls;
  for (const bool one_shot : {true, false}) {
    calls.push_back(
        {"all_reduce", "foretoken_cuda", one_shot ? "one_shot" : "two_shot", "peer", bytes_max_,
         [this, one_shot](const Rank& rank, const CommBuffers& buffers, std::size_t bytes) {
           launch(rank, buffers, bytes, one_shot);
         }});
  }
  return calls;
}

}  // namespace foretoken::measure
