// The matrix products worth measuring: the layers of published models under tensor parallelism,
// random layers around them, and batch sizes from one decoding request to a long prefill.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken::measure {

/// y[m,n] = x[m,k] W[n,k]^T.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;
};

/// Distinct shapes in a fixed order for a seed. `multiple` is what n and k must be multiples of
/// (8 for bf16, 16 for fp8); `per_layer` batch sizes are drawn for each (n, k).
std::vector<GemmShape> gemm_shapes(std::uint64_t seed, int multiple, int per_layer);

/// Lines "m,n,k"; '#' and a header line are skipped. Throws std::runtime_error with file and line.
std::vector<GemmShape> read_gemm_shapes(const std::string& path);

}  // namespace foretoken::measure
