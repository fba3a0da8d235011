// SiLU&Mul, rotary embedding, the write of new keys and values, and the embedding lookup: a CTA a
// token. SiLU&Mul is fitted to FlashInfer 0.6.18 on an H200 (FORETOKEN_DATA/h200_flashinfer), the
// others to kernels of our own that do what the frameworks' do (calibration/datasets/h200). The
// low-rank products of adapters, which pass over their weights once, are fitted to nothing.
#include <algorithm>

#include "kernels/estimators/stream_model.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

constexpr double threads_most = 512;  // of the three of our own

StreamShape silu_shape(const Kernel& kernel, const GpuSpec&) {
  const auto& silu = std::get<SiluAndMul>(kernel);
  const double row_bytes =
      static_cast<double>(silu.dim) * bytes_per_element(activation_dtype(silu.dtype));
  StreamShape shape = row_shape(silu.tokens, row_bytes, 1024);
  shape.bytes = static_cast<double>(silu.tokens) * row_bytes * 3;
  if (!silu.is_cold) shape.footprint = shape.bytes;
  return shape;
}

/// A thread turns 16 bytes of a head's first half with 16 of its second.
StreamShape rope_shape(const Kernel& kernel, const GpuSpec&) {
  const auto& rope = std::get<Rope>(kernel);
  const double size = bytes_per_element(activation_dtype(rope.dtype));
  const double row_bytes = static_cast<double>(rope.heads) * rope.head_dim * size;
  StreamShape shape = row_shape(rope.tokens, row_bytes / 2, threads_most);
  shape.bytes = static_cast<double>(rope.tokens) * (2 * row_bytes + rope.head_dim * size);
  if (!rope.is_cold) shape.footprint = static_cast<double>(rope.tokens) * row_bytes;  // in place
  return shape;
}

StreamShape kv_write_shape(const Kernel& kernel, const GpuSpec&) {
  const auto& write = std::get<KvWrite>(kernel);
  const double read = bytes_per_element(activation_dtype(write.dtype));
  const double written = bytes_per_element(write.kv_dtype);
  const double width = static_cast<double>(write.kv_heads) * write.head_dim;  // of the keys
  StreamShape shape = row_shape(write.tokens, width * read, threads_most);
  shape.bytes = static_cast<double>(write.tokens) * 2 * width * (read + written);
  shape.is_narrow = written < read;
  return shape;
}

StreamShape embedding_shape(const Kernel& kernel, const GpuSpec&) {
  const auto& lookup = std::get<Embedding>(kernel);
  const double row_bytes =
      static_cast<double>(lookup.dim) * bytes_per_element(activation_dtype(lookup.dtype));
  StreamShape shape = row_shape(lookup.tokens, row_bytes, threads_most);
  shape.bytes = static_cast<double>(lookup.tokens) * row_bytes * 2;
  return shape;
}

/// CTAs of 128 threads take 8 KiB each, four accesses a thread.
StreamShape low_rank_shape(const Kernel& kernel, const GpuSpec&) {
  constexpr double cta_bytes = 8192;
  StreamShape shape;
  shape.bytes = kernel_work(kernel).dram_bytes.value();
  shape.ctas = std::max(1.0, shape.bytes / cta_bytes);
  shape.rounds = 4;
  return shape;
}

// Alone within 2.8, 5.7, 4.0 and 3.1 % of the launches they were fitted to.
const EstimatorFamily& silu_and_mul_family() {
  static const StreamFamily family("silu_and_mul", is_kind<SiluAndMul>, silu_shape,
                                   {.launch = 0.671,
                                    .first_round = 161,
                                    .full_cta = 912,
                                    .round = 1350,
                                    .tail = 1210,
                                    .tail_share = 2300,
                                    .cta_issue = 91.6,
                                    .dram_share = 0.931,
                                    .l2_share = 0.9,
                                    .overlap = 1.3,
                                    .wave = 0.574});
  return family;
}

const EstimatorFamily& rope_family() {
  static const StreamFamily family("rope", is_kind<Rope>, rope_shape,
                                   {.launch = 0.609,
                                    .first_round = 523,
                                    .full_cta = 2870,
                                    .round = 1330,
                                    .tail = 930,
                                    .tail_share = 1370,
                                    .cta_issue = 46.4,
                                    .dram_share = 0.807,
                                    .l2_share = 0.8,
                                    .overlap = 1.07,
                                    .wave = 0.248});
  return family;
}

/// Rows scattered over a cache of 262,144 slots: 16-bit caches of that size (1 GB and more) also
/// miss the address translation, 8-bit ones hardly. On the H200 that limits both this and the
/// lookup to a third of the DRAM's bandwidth, of which other GPUs have less to lose.
const EstimatorFamily& kv_write_family() {
  static const StreamFamily family("kv_write", is_kind<KvWrite>, kv_write_shape,
                                   {.launch = 0.631,
                                    .first_round = 692,
                                    .full_cta = 1050,
                                    .round = 1460,
                                    .tail = 1570,
                                    .tail_share = 1490,
                                    .cta_issue = 83.1,
                                    .dram_share = 0.85,
                                    .dram_share_narrow = 0.779,
                                    .sm_rate = 6.615,
                                    .overlap = 1.55,
                                    .wave = 0.611});
  return family;
}

const EstimatorFamily& embedding_family() {
  static const StreamFamily family("embedding", is_kind<Embedding>, embedding_shape,
                                   {.launch = 0.575,
                                    .first_round = 489,
                                    .full_cta = 1190,
                                    .round = 1380,
                                    .tail = 957,
                                    .tail_share = 640,
                                    .cta_issue = 95.4,
                                    .dram_share = 0.85,
                                    .sm_rate = 7.022,
                                    .overlap = 1.93,
                                    .wave = 0.702});
  return family;
}

/// No table holds the products of adapters: what their bytes take, in the latency of a kernel that
/// streams. How far that is off nobody has measured here; the error is a guess.
const EstimatorFamily& low_rank_family() {
  static const StreamFamily family("low_rank", is_kind<LowRank>, low_rank_shape, {.error = 0.5});
  return family;
}

}  // namespace

std::vector<const EstimatorFamily*> elementwise_families() {
  return {&low_rank_family(), &silu_and_mul_family(), &rope_family(), &kv_write_family(),
          &embedding_family()};
}

}  // namespace foretoken
