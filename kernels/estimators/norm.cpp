// RMSNorm, with and without the residual added, and the norm of each query and key head. Fitted to
// FlashInfer 0.6.18's kernels on an H200 (a CTA a row; FORETOKEN_DATA/h200_flashinfer), the head
// norm to a kernel of our own with a warp a head (calibration/datasets/h200).
#include <algorithm>
#include <cmath>

#include "kernels/estimators/stream_model.hpp"

namespace foretoken {
namespace {

/// Row by row; `streams` times the row's bytes are moved, to and from two buffers.
template <class Norm>
StreamShape norm_shape(const Norm& norm, double streams) {
  const double row_bytes =
      static_cast<double>(norm.dim) * bytes_per_element(activation_dtype(norm.dtype));
  StreamShape shape = row_shape(norm.tokens, row_bytes, 1024);
  const double tensor_bytes = static_cast<double>(norm.tokens) * row_bytes;
  shape.bytes = tensor_bytes * streams;
  if (!norm.is_cold) shape.footprint = tensor_bytes * 2;
  return shape;
}

StreamShape rms_norm_shape(const Kernel& kernel, const GpuSpec&) {
  return norm_shape(std::get<RmsNorm>(kernel), 2);
}

/// Reads the input and the residual, writes both in place.
StreamShape fused_add_shape(const Kernel& kernel, const GpuSpec&) {
  return norm_shape(std::get<FusedAddRmsNorm>(kernel), 4);
}

/// A warp a head, eight to a CTA; CTAs that find no SM free take further heads in turn.
StreamShape qk_norm_shape(const Kernel& kernel, const GpuSpec& gpu) {
  constexpr double heads_a_cta = 8, ctas_a_sm = 8;
  const auto& norm = std::get<QkNorm>(kernel);
  const double heads = static_cast<double>(norm.tokens) * norm.heads;
  const double ctas = std::ceil(heads / heads_a_cta);
  StreamShape shape;
  shape.threads = 256;
  shape.ctas = std::min(ctas, ctas_a_sm * gpu.sm_count);
  shape.rounds = ctas / shape.ctas;
  const double head_bytes = norm.head_dim * bytes_per_element(activation_dtype(norm.dtype));
  shape.bytes = heads * head_bytes * 2;
  if (!norm.is_cold) shape.footprint = heads * head_bytes;  // in place
  return shape;
}

}  // namespace

// Alone within 4.2, 3.0 and 3.0 % of the launches they were fitted to.
const EstimatorFamily& rms_norm_family() {
  static const StreamFamily family("rms_norm", is_kind<RmsNorm>, rms_norm_shape,
                                   {.launch = 0.816,
                                    .first_round = 393,
                                    .full_cta = 1520,
                                    .round = 1410,
                                    .tail = 1090,
                                    .tail_share = 1410,
                                    .cta_issue = 263,
                                    .dram_share = 0.636,
                                    .l2_share = 0.5,
                                    .overlap = 2.27,
                                    .wave = 1.51});
  return family;
}

const EstimatorFamily& fused_add_rms_norm_family() {
  static const StreamFamily family("fused_add_rms_norm", is_kind<FusedAddRmsNorm>, fused_add_shape,
                                   {.launch = 0.894,
                                    .first_round = 389,
                                    .full_cta = 1760,
                                    .round = 2340,
                                    .tail = 1730,
                                    .tail_share = 1310,
                                    .cta_issue = 148,
                                    .dram_share = 0.847,
                                    .overlap = 1.59,
                                    .wave = 0.911});
  return family;
}

/// The share of DRAM bandwidth above 1 says that nothing but latency was seen to limit it.
const EstimatorFamily& qk_norm_family() {
  static const StreamFamily family("qk_norm", is_kind<QkNorm>, qk_norm_shape,
                                   {.launch = 0.523,
                                    .first_round = 515,
                                    .full_cta = 1070,
                                    .round = 1860,
                                    .tail = 786,
                                    .tail_share = 1510,
                                    .cta_issue = 181,
                                    .dram_share = 1.49,
                                    .overlap = 1.15,
                                    .wave = 0.8});
  return family;
}

}  // namespace foretoken
