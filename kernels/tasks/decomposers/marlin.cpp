// Products of narrow weights and 16-bit activations as Marlin and Machete run them: weights are
// unpacked on their way to the tensor cores. How both cut a product is not public as a table: the
// tile that a tile model selects stands in.
#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {

Decomposition decompose_marlin_gemm(const Gemm& kernel, const GpuSpec& gpu) {
  Gemm run = kernel;
  // 4-bit formats that the GPU has no path for: unpacked alike, of as many bytes.
  if (!is_weight_only(run.dtype)) run.dtype = DType::w4a16_g32;
  Decomposition result;
  append_selected_product(result, "marlin", run, gpu);
  result.approximation =
      "Marlin's stripes of tiles are not modelled: a tile model's tile stands in";
  return result;
}

}  // namespace foretoken
