// Norms as FlashInfer launches them (0.6.18), a CTA a row: 16-byte vectors, a thread each up to
// 1,024 threads. vLLM's own kernels differ in block size only. Root mean square reads the row
// twice, fused add keeps it in shared memory between its passes.
#include <algorithm>
#include <numeric>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int norm_warp_threads = 32;
constexpr int norm_vector_bytes = 16;
constexpr std::int64_t norm_threads_max = 1024;
constexpr int float_bytes = 4;

int row_warps(std::int64_t dim, double size) {
  const auto vector = std::gcd(static_cast<std::int64_t>(norm_vector_bytes / size), dim);
  return static_cast<int>(ceil_div(std::min(norm_threads_max, dim / vector), norm_warp_threads));
}

Launch norm_launch(std::string_view name, std::int64_t rows, std::int64_t dim, DType dtype,
                   const Task& task) {
  const int warps = row_warps(dim, activation_bytes(dtype));
  Launch launch = uniform_launch(name, task, rows, norm_warp_threads * warps, 32);
  launch.shape.shared_memory = Bytes(float_bytes * warps);
  return launch;
}

}  // namespace

// Square and sum (1), times the row's scale (1), times the weight (1); each thread takes the root.
Decomposition decompose_rms_norm(const RmsNorm& kernel, const GpuSpec&) {
  const auto dim = static_cast<double>(kernel.dim);
  const double size = activation_bytes(kernel.dtype);
  const Task task = {.fma_ops = 3 * dim,
                     .xu_ops = static_cast<double>(norm_warp_threads * row_warps(kernel.dim, size)),
                     .bytes_loaded = 3 * dim * size};
  return {.launches = {norm_launch("rms_norm", kernel.tokens, kernel.dim, kernel.dtype, task)},
          .plan = {}};
}

Decomposition decompose_fused_add_rms_norm(const FusedAddRmsNorm& kernel, const GpuSpec&) {
  const auto dim = static_cast<double>(kernel.dim);
  const double size = activation_bytes(kernel.dtype);
  const int warps = row_warps(kernel.dim, size);
  const Task task = {.fma_ops = 4 * dim,
                     .xu_ops = static_cast<double>(norm_warp_threads * warps),
                     .bytes_loaded = 3 * dim * size};  // input, residual, weight
  Launch launch = norm_launch("fused_add_rms_norm", kernel.tokens, kernel.dim, kernel.dtype, task);
  launch.shape.registers_per_thread = 31;
  const std::int64_t floats = round_up(warps, 4) + kernel.dim;  // sums of the warps, the row
  launch.shape.shared_memory = Bytes(static_cast<double>(float_bytes * floats));
  return {.launches = {std::move(launch)}, .plan = {}};
}

// A warp a head, four warps a CTA; persistent in FlashInfer, which schedules alike.
Decomposition decompose_qk_norm(const QkNorm& kernel, const GpuSpec&) {
  constexpr int heads_cta = 4;
  const double values = static_cast<double>(heads_cta) * kernel.head_dim;
  const Task task = {.fma_ops = 3 * values,
                     .xu_ops = heads_cta * norm_warp_threads,
                     .bytes_loaded = 2 * values * activation_bytes(kernel.dtype)};
  const std::int64_t ctas = ceil_div(kernel.tokens * kernel.heads, heads_cta);
  return {.launches = {uniform_launch("qk_norm", task, ctas, heads_cta * norm_warp_threads, 32)},
          .plan = {}};
}

}  // namespace foretoken
