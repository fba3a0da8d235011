// A GPU that remembers: what calibration/measure launches takes the time that the program once
// recorded for it (recording.hpp) on a clock of its own, so that everything around a measurement
// can be tested where no GPU is. A launch finds its data cold after L2 was swept, if it and its
// neighbours in the graph have buffers of their own; warm otherwise; and the card hot after as long
// a run as the recording's `settle_ms`. Kernels compute nothing but what the programs look at:
// clocks, counters and sums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/measure/gpu/cuda_runtime.h"
#include "tests/measure/recording.hpp"

namespace foretoken::recorded {

/// A kernel on its way to the GPU.
struct Launched {
  std::string name;  // mangled, as the driver tells it
  dim3 grid = {}, block = {};
  std::size_t shared = 0;
  Piece piece = {};  // of the recorded row; row is null for what computes its time
  std::vector<std::uintptr_t> pointers = {};  // arguments that are pointers
  double us = 0;                              // without a row
  bool is_memset = false;
  bool sweeps_l2 = false;
  double share = 1;  // of the recorded time: of several ranks only the last takes all of it
};

/// The fault that the environment's FORETOKEN_RECORDED_FAULT asks for: "FUNCTION COUNT CODE" (that
/// call of it fails), "sums" (reductions add wrongly), "hang" (collectives never end) or "sm"
/// (every kernel on another SM).
bool has_fault(const std::string& name);
/// What a call of `function` answers: an error once if the fault is its, success otherwise.
int fault_of(const char* function);
/// Keeps the error for cudaGetLastError, for good if it breaks the context.
cudaError_t failed(int code);

/// Puts a kernel on the stream: into its graph while it captures, else it runs at once.
void enqueue(cudaStream_t stream, Launched launched);
[[nodiscard]] bool is_capturing(cudaStream_t stream);

/// A kernel's demangled name and, of its arguments, the values of those that are pointers.
std::string shown_name(const std::string& mangled);
std::vector<std::uintptr_t> pointers_of(const std::string& shown, void** arguments);

/// What a kernel without a recorded row does and takes. `arguments` as CUDA hands them over.
void run_unrecorded(const std::string& shown, void** arguments, Launched& launched,
                    cudaStream_t stream);

/// Puts all kernels of a library's call that was recorded on the stream.
void enqueue_call(cudaStream_t stream, const Row& row, const std::vector<const void*>& buffers);

/// bf16 sums over `inputs` into `out`, whose numbers the programs check.
void add_up(const std::vector<const void*>& inputs, void* out, std::size_t count);

[[nodiscard]] std::string extent_text(const dim3& extent);
/// Of "4x12x1"; 0s of an empty text.
[[nodiscard]] dim3 extent_of(const std::string& text);

}  // namespace foretoken::recorded

/// One stream a GPU. Times in us of the GPU's own clock.
struct CUstream_st {
  int device = 0;
  double now_us = 0;
  double cycles = 0;          // of an SM
  double clock_mhz = 1000;    // of the kernel that ran last
  bool is_swept = false;      // L2 holds nothing of use
  double busy_us = 0;         // of graphs that began with a warm L2, since the last capture
  std::size_t last_read = 0;  // bytes of the range that was read last
  std::unique_ptr<CUgraph_st> capture = nullptr;

  void advance(double us) {
    now_us += us;
    cycles += us * clock_mhz;
  }
};
struct CUevent_st {
  double us = 0;
};
struct CUgraphNode_st {
  foretoken::recorded::Launched launched;
};
struct CUgraph_st {
  std::vector<CUgraphNode_st> nodes;
};
struct CUgraphExec_st {
  std::vector<CUgraphNode_st> nodes;
  int replays = 0, cold_replays = 0;
  bool rotates = true;  // no two launches of a kernel in a row have the same buffers
};
