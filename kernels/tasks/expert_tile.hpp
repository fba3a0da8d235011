// Into which tiles whoever runs an expert layer cuts its products: one rule for prices
// (estimators) and for tasks (decomposers). Triton's follow the frameworks' sources and tuned
// files; TensorRT-LLM's, Marlin's and CUTLASS's are by the rows that an expert gets.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/expert_load.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

/// deep_gemm: contiguous, with room for every expert's rows. deep_gemm_routed: the rows that came.
enum class MoeStyle { triton, trtllm, cutlass, marlin, deep_gemm, deep_gemm_routed };

/// Whose kernels run a layer; `automatic` sources are resolved for the GPU first.
MoeStyle moe_style(const FusedMoe& kernel, const GpuSpec& gpu);

/// Tile of the products: rows (tokens of one expert), columns, step along k.
struct ExpertTile {
  int rows = 0, columns = 0, depth = 0;
  bool is_tuned = false;  // a file of the framework's for this very shape says so
};

/// `load` is busiest_rank_load(kernel).
ExpertTile expert_tile(const FusedMoe& kernel, const GpuSpec& gpu, const ExpertLoad& load);

/// A CTA of Triton's products on such a tile: three stages, registers for the accumulators.
LaunchShape expert_launch_shape(const ExpertTile& tile, DType dtype);
inline constexpr int expert_stages = 3;

/// For how many tokens the launches are called, and how many (token, expert) pairs are multiplied.
struct ExpertRows {
  double tokens = 0, rows = 0;
};
/// `load` is busiest_rank_load(kernel).
ExpertRows expert_rows(const FusedMoe& kernel, const GpuSpec& gpu, const ExpertLoad& load);

/// Rows that DeepGEMM's grouped products multiply. The host knows neither which of the batch's
/// (token, expert) pairs are the rank's nor how they spread, so there is room for all pairs and for
/// 127 rows more an expert (vLLM's compute_aligned_M), and all of it is multiplied.
double contiguous_rows(const FusedMoe& kernel, const ExpertLoad& load);

/// Tables only: the older collector gave the pairs of other ranks' experts to this rank's first
/// expert, which multiplied them all. Its tables are those of SGLang 0.5.10 (compute capability
/// 8.0) and, under later versions, of two models known by their shape. No server does this.
bool multiplies_remote_rows(const FusedMoe& kernel, const GpuSpec& gpu);

}  // namespace foretoken
