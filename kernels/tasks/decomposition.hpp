// A kernel launch as tasks for SMs (SynPerf, Section IV): what a decomposer hands on, before anyone
// says which SM does what (sm_scheduler.hpp) or sums it up (features.hpp). Decomposers live in
// decomposers/, one file a kernel source; they know how the kernel tiles, splits and launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/implementation.hpp"
#include "kernels/kernel.hpp"
#include "sim/base/recycled.hpp"

namespace foretoken {

/// What one CTA does, or one tile of a persistent CTA, or one iteration of a Stream-K tile.
struct Task {
  double tensor_ops = 0;    // a multiply-add counts as 2
  double fma_ops = 0;       // fp32 lanes: a multiply-add, an add or a multiply is 1 each
  double xu_ops = 0;        // exp2, reciprocal, reciprocal square root
  double bytes_loaded = 0;  // loads only, from anywhere
  friend bool operator==(const Task&, const Task&) = default;
};

/// `count` equal tasks that follow each other in launch order.
struct TaskGroup {
  Task task;
  std::int64_t count = 0;
  friend bool operator==(const TaskGroup&, const TaskGroup&) = default;
};

using TaskList = RecycledVector<TaskGroup>;

/// hardware: the GPU hands CTAs to SMs. persistent: CTA w of W takes tiles w, w + W, … stream_k:
/// the iterations of all tiles, one task each, are cut into W runs of equal length. least_loaded:
/// the host gives each task to the CTA with least to do (FA3's heap).
enum class Scheduling { hardware, persistent, stream_k, least_loaded };

struct LaunchShape {
  std::int64_t grid_x = 1, grid_y = 1, grid_z = 1;
  int threads = 128;
  int registers_per_thread = 32;
  Bytes shared_memory;  // of a CTA
  [[nodiscard]] std::int64_t ctas() const { return grid_x * grid_y * grid_z; }
};

struct Launch {
  std::string_view name;  // "fa2_prefill", "merge_states", "cublas_persistent"
  LaunchShape shape;
  Scheduling scheduling = Scheduling::hardware;
  DType tensor_dtype = DType::bf16;
  /// In launch order. The whole list is launched `repeats` times over (one pass a head).
  TaskList tasks;
  std::int64_t repeats = 1;
  /// scheduling = least_loaded: what the host reckons a task of each group to cost.
  std::vector<float> costs;
  /// scheduling = least_loaded: every pass is placed as the first one is.
  bool are_passes_alike = false;
  /// Puts the partial results of the launch before it together.
  bool joins_parts = false;

  [[nodiscard]] std::int64_t task_count() const {
    std::int64_t count = 0;
    for (const TaskGroup& group : tasks) count += group.count;
    return count * repeats;
  }
};

/// How an attention kernel cuts queries into tiles and contexts into chunks.
struct AttentionPlan {
  int cta_tile_q = 0;             // packed query rows a CTA; 0 = CUDA cores, one row a thread group
  int cta_tile_kv = 0;            // keys an iteration
  std::int64_t padded_batch = 0;  // work items a KV head (FA3: a launch)
  bool is_split = false;
  std::int64_t kv_chunk = 0;  // tokens of a work item at most; 0 = not chunked
  friend bool operator==(const AttentionPlan&, const AttentionPlan&) = default;
};

/// How a matrix product is cut, and who says so. library: the library's own table or rule.
/// profiled: what its launches on GPUs of this architecture showed. analytic: a formula over the
/// specification, where nobody looked.
enum class TileOrigin { library, profiled, analytic };
template <>
struct EnumNames<TileOrigin> {
  static constexpr auto names =
      std::to_array<std::string_view>({"library", "profiled", "analytic"});
};
struct ProductCut {
  int m = 0, n = 0, k = 0;  // along tokens, output features, depth of a slice
  int split_k = 1;
  TileOrigin origin = TileOrigin::analytic;
  std::string_view by;  // "vLLM's table", or a tile model: "foretoken_2026"
  friend bool operator==(const ProductCut&, const ProductCut&) = default;
};

struct Decomposition {
  std::vector<Launch> launches;
  std::optional<AttentionPlan> plan;  // attention only
  /// Matrix products only: of each, where they are many.
  std::optional<ProductCut> cut = {};
  /// "" where the decomposition follows the real kernel; else which kernel stands in and why.
  std::string_view approximation = {};
};

/// Cuts `kernel` into launches as its implementation (kernel.implementation, resolved for `gpu`)
/// does. Throws PredictionError for a kernel without decomposer. Attention in aggregate form is
/// decomposed as equal sequences with the same sums.
Decomposition decompose(const Kernel& kernel, const GpuSpec& gpu);

/// What the framework chooses where the kernel names no source.
Implementation resolve_implementation(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
