#include "workloads/encoder_kernels.hpp"

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

/// A product of the encoder: how many of its features a rank has.
std::int64_t rank_part(std::int64_t width, int ranks) { return (width + ranks - 1) / ranks; }

/// Images on the rank with most patches: the largest first, each to the rank with fewest so far
/// (vLLM, get_load_balance_assignment).
std::vector<ImagePatches> busiest_share(std::span<const ImagePatches> images, int ranks) {
  std::vector<ImagePatches> sorted(images.begin(), images.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &ImagePatches::all_patches);
  std::vector<std::vector<ImagePatches>> shares(static_cast<std::size_t>(ranks));
  const auto patches = [](const std::vector<ImagePatches>& share) {
    return std::accumulate(
        share.begin(), share.end(), std::int64_t{0},
        [](std::int64_t sum, const auto& one) { return sum + one.all_patches(); });
  };
  for (const ImagePatches& image : sorted)
    std::ranges::min_element(shares, {}, patches)->push_back(image);
  return *std::ranges::max_element(shares, {}, patches);
}

class EncoderKernels {
 public:
  EncoderKernels(const VisionEncoder& vision, const ParallelLayout& layout,
                 const ExecutionSettings& settings, std::span<const ImagePatches> images)
      : vision_(vision),
        dtype_(activation_dtype(settings.dtype)),
        implementation_(settings.implementation),
        group_(layout.tensor),
        ranks_(layout.encoder_by_data ? 1 : layout.tensor),
        images_(layout.encoder_by_data ? busiest_share(images, layout.tensor)
                                       : std::vector(images.begin(), images.end())) {
    for (const ImagePatches& image : images_) {
      patches_ += image.all_patches();
      tokens_ += image.tokens;
    }
  }

  KernelSequence take() {
    add_gemm("patch_embedding", patches_, vision_.hidden, vision_.patch_values(), 1);
    const int full = full_layers();
    add_layers(full, 0);
    add_layers(vision_.layers - full, vision_.window);
    add_projectors();
    if (ranks_ < group_) {  // every rank gets the tokens of all
      add_collective("encoder_all_gather", CollectiveOp::all_gather,
                     group_ * tokens_ * vision_.values_per_token(), 1);
    }
    return std::move(kernels_);
  }

 private:
  [[nodiscard]] int full_layers() const {
    return vision_.window > 0 ? static_cast<int>(vision_.full_layers.size()) : vision_.layers;
  }

  /// `layers` alike, whose attention sees `window` x `window` patches; 0 = all of a tile.
  void add_layers(int layers, int window) {
    if (layers == 0) return;
    const int heads = vision_.heads / ranks_;
    const std::int64_t width = std::int64_t{heads} * vision_.head_dim;
    add("encoder_norm",
        FusedAddRmsNorm{
            .tokens = patches_, .dim = vision_.hidden, .dtype = dtype_, .is_cold = false},
        2 * layers);
    add_gemm("encoder_qkv_proj", patches_, 3 * width, vision_.hidden, layers);
    add("encoder_rope",
        Rope{.tokens = patches_,
             .heads = 2 * heads,
             .head_dim = vision_.head_dim,
             .dtype = dtype_,
             .is_cold = false},
        layers);
    add("encoder_attention",
        Attention{.query_heads = heads,
                  .kv_heads = heads,
                  .head_dim = vision_.head_dim,
                  .dtype = dtype_,
                  .kv_dtype = dtype_,
                  .causal = false,
                  .page_tokens = 0,
                  .load = AttentionLoad::exact(sequences(window), 0),
                  .implementation = implementation_},
        layers);
    add_gemm("encoder_o_proj", patches_, vision_.hidden, width, layers);
    add_sum("encoder_attention_all_reduce", patches_ * vision_.hidden, layers);
    const std::int64_t inner = rank_part(vision_.intermediate, ranks_);
    add_gemm("encoder_up_proj", patches_, (vision_.gated_mlp ? 2 : 1) * inner, vision_.hidden,
             layers);
    add("encoder_activation",
        SiluAndMul{.tokens = patches_, .dim = inner, .dtype = dtype_, .is_cold = false}, layers);
    add_gemm("encoder_down_proj", patches_, vision_.hidden, inner, layers);
    add_sum("encoder_mlp_all_reduce", patches_ * vision_.hidden, layers);
  }

  /// What attends to each other: tiles, or windows of them.
  [[nodiscard]] std::vector<SequenceSlice> sequences(int window) const {
    std::vector<SequenceSlice> slices;
    const std::int64_t most = std::int64_t{window} * window;
    for (const ImagePatches& image : images_) {
      for (std::int64_t tile = 0; tile < image.tiles; ++tile) {
        for (std::int64_t left = image.patches; left > 0;) {
          const std::int64_t taken = most > 0 ? std::min(most, left) : left;
          slices.push_back({taken, taken});
          left -= taken;
        }
      }
    }
    return slices;
  }

  void add_projectors() {
    const int times = 1 + vision_.deepstack;
    if (vision_.projector_norm) {
      add("projector_norm",
          RmsNorm{.tokens = patches_, .dim = vision_.hidden, .dtype = dtype_, .is_cold = false},
          times);
    }
    const std::size_t products = vision_.projector.size() - 1;
    for (std::size_t i = 0; i < products; ++i) {
      // Column- and row-parallel in turn; a last one without partner is whole.
      const bool is_pair_first = i % 2 == 0 && i + 1 < products;
      const bool is_pair_second = i % 2 == 1;
      const std::int64_t in = vision_.projector[i], out = vision_.projector[i + 1];
      add_gemm("projector_proj", tokens_, is_pair_first ? rank_part(out, ranks_) : out,
               is_pair_second ? rank_part(in, ranks_) : in, times);
      if (is_pair_first) {
        add("projector_activation",
            SiluAndMul{.tokens = tokens_,
                       .dim = rank_part(out, ranks_),
                       .dtype = dtype_,
                       .is_cold = false},
            times);
      }
      if (is_pair_second) add_sum("projector_all_reduce", tokens_ * out, times);
    }
  }

  void add_gemm(std::string_view role, std::int64_t m, std::int64_t n, std::int64_t k, int calls) {
    add(role, Gemm{.m = m, .n = n, .k = k, .dtype = dtype_, .implementation = implementation_},
        calls);
  }

  /// Of the partial sums that a row-parallel product leaves.
  void add_sum(std::string_view role, std::int64_t values, int calls) {
    if (ranks_ > 1) add_collective(role, CollectiveOp::all_reduce, values, calls);
  }

  void add_collective(std::string_view role, CollectiveOp op, std::int64_t values, int calls) {
    add(role,
        Collective{.op = op,
                   .group = CommGroup::tensor_parallel,
                   .ranks = group_,
                   .bytes = static_cast<double>(values) * bytes_per_element(dtype_)},
        calls);
  }

  void add(std::string_view role, Kernel kernel, int calls) {
    kernels_.push_back({role, std::move(kernel), calls});
  }

  const VisionEncoder& vision_;
  DType dtype_;
  Implementation implementation_;
  int group_, ranks_;  // of the group, and of them those that have a part of each layer
  std::vector<ImagePatches> images_;
  std::int64_t patches_ = 0, tokens_ = 0;
  KernelSequence kernels_;
};

}  // namespace

KernelSequence encoder_kernels(const VisionEncoder& vision, const ParallelLayout& layout,
                               const ExecutionSettings& settings,
                               std::span<const ImagePatches> images) {
  FORETOKEN_CHECK(!images.empty(), "no images");
  return EncoderKernels(vision, layout, settings, images).take();
}

std::string encoder_problem(const VisionEncoder& vision, const ParallelLayout& layout) {
  if (layout.encoder_by_data || layout.tensor == 1) return "";
  const auto refuse = [&](std::int64_t count, std::string_view what) {
    return fmt::format("{} tensor-parallel ranks do not divide the image encoder's {} {}",
                       layout.tensor, count, what);
  };
  if (vision.heads % layout.tensor != 0) return refuse(vision.heads, "heads");
  if (vision.intermediate % layout.tensor != 0)
    return refuse(vision.intermediate, "columns of an MLP");
  return "";
}

}  // namespace foretoken
