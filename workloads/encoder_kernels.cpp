#include "workloads/encoder_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace foretoken {
namespace {

/// A product of the encoder: how many of its features a rank has.
std::int64_t rank_part(std::int64_t width, int ranks) { return (width + ranks - 1) / ranks; }

/// Items on the rank with most patches: the largest first, each to the rank with fewest so far
/// (vLLM, get_load_balance_assignment).
std::vector<MediaPatches> busiest_share(std::span<const MediaPatches> items, int ranks) {
  std::vector<MediaPatches> sorted(items.begin(), items.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &MediaPatches::all_patches);
  std::vector<std::vector<MediaPatches>> shares(static_cast<std::size_t>(ranks));
  const auto patches = [](const std::vector<MediaPatches>& share) {
    return std::accumulate(
        share.begin(), share.end(), std::int64_t{0},
        [](std::int64_t sum, const auto& one) { return sum + one.all_patches(); });
  };
  for (const MediaPatches& image : sorted)
    std::ranges::min_element(shares, {}, patches)->push_back(image);
  return *std::ranges::max_element(shares, {}, patches);
}

class EncoderKernels {
 public:
  EncoderKernels(const MediaEncoder& encoder, const ParallelLayout& layout,
                 const ExecutionSettings& settings, std::span<const MediaPatches> items)
      : encoder_(encoder),
        dtype_(activation_dtype(settings.dtype)),
        implementation_(settings.implementation),
        group_(layout.tensor),
        ranks_(layout.encoder_by_data ? 1 : layout.tensor),
        items_(layout.encoder_by_data ? busiest_share(items, layout.tensor)
                                      : std::vector(items.begin(), items.end())) {
    for (const MediaPatches& image : items_) {
      patches_ += image.all_patches();
      tokens_ += image.tokens;
    }
  }

  KernelSequence take() {
    if (encoder_.medium == Medium::audio) {
      add_front();
    } else {
      add_gemm("patch_embedding", patches_, encoder_.hidden, encoder_.patch_values(), 1);
    }
    const int full = full_layers();
    add_layers(full, 0);
    add_layers(encoder_.layers - full, encoder_.window);
    add_projectors();
    if (ranks_ < group_) {  // every rank gets the tokens of all
      add_collective("encoder_all_gather", CollectiveOp::all_gather,
                     group_ * tokens_ * encoder_.values_per_token(), 1);
    }
    return std::move(kernels_);
  }

 private:
  [[nodiscard]] int full_layers() const {
    return encoder_.window > 0 ? static_cast<int>(encoder_.full_layers.size()) : encoder_.layers;
  }

  /// Convolutions, on every rank whole, with an activation behind each.
  void add_front() {
    for (const FrontProduct& product : encoder_.front) {
      const std::int64_t rows = patches_ * product.rows;
      add_gemm("encoder_convolution", rows, product.out, product.in, 1);
      add("encoder_convolution_activation",
          SiluAndMul{.tokens = rows, .dim = product.out, .dtype = dtype_, .is_cold = false}, 1);
    }
  }

  /// `layers` alike, whose attention sees windows of that size; 0 = all of a tile or piece.
  void add_layers(int layers, int window) {
    if (layers == 0) return;
    const int heads = encoder_.heads / ranks_;
    const std::int64_t width = std::int64_t{heads} * encoder_.head_dim;
    const int mlps = encoder_.convolution > 0 ? 2 : 1;
    add_norm((1 + mlps) * layers);
    add_gemm("encoder_qkv_proj", patches_, 3 * width, encoder_.hidden, layers);
    if (encoder_.medium == Medium::image) {
      add("encoder_rope",
          Rope{.tokens = patches_,
               .heads = 2 * heads,
               .head_dim = encoder_.head_dim,
               .dtype = dtype_,
               .is_cold = false},
          layers);
    }
    add("encoder_attention",
        Attention{.query_heads = heads,
                  .kv_heads = heads,
                  .head_dim = encoder_.head_dim,
                  .dtype = dtype_,
                  .kv_dtype = dtype_,
                  .causal = false,
                  .page_tokens = 0,
                  .load = AttentionLoad::exact(sequences(window), 0),
                  .implementation = implementation_},
        layers);
    add_gemm("encoder_o_proj", patches_, encoder_.hidden, width, layers);
    add_sum("encoder_attention_all_reduce", patches_ * encoder_.hidden, layers);
    if (encoder_.convolution > 0) add_gated_convolution(layers);
    add_mlp(mlps * layers);
  }

  void add_norm(int calls) {
    add("encoder_norm",
        FusedAddRmsNorm{
            .tokens = patches_, .dim = encoder_.hidden, .dtype = dtype_, .is_cold = false},
        calls);
  }

  void add_mlp(int calls) {
    const std::int64_t inner = rank_part(encoder_.intermediate, ranks_);
    add_gemm("encoder_up_proj", patches_, (encoder_.gated_mlp ? 2 : 1) * inner, encoder_.hidden,
             calls);
    add("encoder_activation",
        SiluAndMul{.tokens = patches_, .dim = inner, .dtype = dtype_, .is_cold = false}, calls);
    add_gemm("encoder_down_proj", patches_, encoder_.hidden, inner, calls);
    add_sum("encoder_mlp_all_reduce", patches_ * encoder_.hidden, calls);
  }

  /// A conformer's: to twice the width, half of which gates, the convolution of each channel, and
  /// back; cut over ranks as an MLP.
  void add_gated_convolution(int calls) {
    const std::int64_t inner = rank_part(encoder_.hidden, ranks_);
    add_norm(2 * calls);  // before it, and the convolution's own pass
    add_gemm("encoder_conv_in_proj", patches_, 2 * inner, encoder_.hidden, calls);
    add("encoder_conv_activation",
        SiluAndMul{.tokens = patches_, .dim = inner, .dtype = dtype_, .is_cold = false}, calls);
    add_gemm("encoder_conv_out_proj", patches_, encoder_.hidden, inner, calls);
    add_sum("encoder_conv_all_reduce", patches_ * encoder_.hidden, calls);
  }

  /// What attends to each other: tiles or pieces, or windows of them.
  [[nodiscard]] std::vector<SequenceSlice> sequences(int window) const {
    std::vector<SequenceSlice> slices;
    const std::int64_t side = window;
    const std::int64_t most = encoder_.medium == Medium::image ? side * side : side;
    for (const MediaPatches& image : items_) {
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
    const int times = 1 + encoder_.deepstack;
    if (encoder_.projector_norm) {
      add("projector_norm",
          RmsNorm{.tokens = patches_, .dim = encoder_.hidden, .dtype = dtype_, .is_cold = false},
          times);
    }
    const std::size_t products = encoder_.projector.size() - 1;
    for (std::size_t i = 0; i < products; ++i) {
      // Column- and row-parallel in turn; a last one without partner is whole.
      const bool is_pair_first = i % 2 == 0 && i + 1 < products;
      const bool is_pair_second = i % 2 == 1;
      const std::int64_t in = encoder_.projector[i], out = encoder_.projector[i + 1];
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

  const MediaEncoder& encoder_;
  DType dtype_;
  Implementation implementation_;
  int group_, ranks_;  // of the group, and of them those that have a part of each layer
  std::vector<MediaPatches> items_;
  std::int64_t patches_ = 0, tokens_ = 0;
  KernelSequence kernels_;
};

}  // namespace

KernelSequence encoder_kernels(const MediaEncoder& encoder, const ParallelLayout& layout,
                               const ExecutionSettings& settings,
                               std::span<const MediaPatches> items) {
  FORETOKEN_CHECK(!items.empty(), "nothing to encode");
  return EncoderKernels(encoder, layout, settings, items).take();
}

std::vector<MediaPatches> of_medium(Medium medium, std::span<const MediaPatches> items) {
  std::vector<MediaPatches> own;
  std::ranges::copy_if(items, std::back_inserter(own),
                       [&](const MediaPatches& item) { return item.medium == medium; });
  return own;
}

std::string encoder_problem(const MediaEncoder& encoder, const ParallelLayout& layout) {
  if (layout.encoder_by_data || layout.tensor == 1) return "";
  const auto refuse = [&](std::int64_t count, std::string_view what) {
    return fmt::format("{} tensor-parallel ranks do not divide the {} encoder's {} {}",
                       layout.tensor, enum_name(encoder.medium), count, what);
  };
  if (encoder.heads % layout.tensor != 0) return refuse(encoder.heads, "heads");
  if (encoder.intermediate % layout.tensor != 0)
    return refuse(encoder.intermediate, "columns of an MLP");
  return "";
}

}  // namespace foretoken
