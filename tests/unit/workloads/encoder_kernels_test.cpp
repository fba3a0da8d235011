// Kernels of an image encoder, by hand: shapes, calls, and what tensor parallelism leaves a rank.
#include "workloads/encoder_kernels.hpp"

#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::encoder_kernels_test {
namespace {

/// 3 layers of width 64, 4 heads of 16; tokens of 2 x 2 patches through 256 and 256 to 512.
MediaEncoder small() {
  MediaEncoder vision;
  vision.layers = 3;
  vision.hidden = 64;
  vision.intermediate = 128;
  vision.heads = 4;
  vision.head_dim = 16;
  vision.patch = 14;
  vision.frames = 2;
  vision.merge = 2;
  vision.projector = {256, 256, 512};
  vision.projector_norm = true;
  vision.sizing = MediaSizing::rounded;
  vision.patches_max = 1000;
  return vision;
}

KernelSequence encode(const MediaEncoder& vision, const ParallelLayout& layout,
                      const std::vector<MediaPatches>& images) {
  return encoder_kernels(vision, layout, {}, images);
}

const std::vector<MediaPatches> two = {{1, 100, 25}, {2, 40, 20}};

TEST(EncoderKernels, AreThoseOfATransformerOverAllPatches) {
  const KernelSequence kernels = encode(small(), {}, two);
  EXPECT_THAT(roles(kernels),
              testing::ElementsAre("patch_embedding x1", "encoder_norm x6", "encoder_qkv_proj x3",
                                   "encoder_rope x3", "encoder_attention x3", "encoder_o_proj x3",
                                   "encoder_up_proj x3", "encoder_activation x3",
                                   "encoder_down_proj x3", "projector_norm x1", "projector_proj x1",
                                   "projector_activation x1", "projector_proj x1"));
  // 180 patches of 14 x 14 pixels, three colours, two frames; 45 tokens.
  EXPECT_EQ(kernel<Gemm>(kernels, "patch_embedding"), (Gemm{.m = 180, .n = 64, .k = 1176}));
  EXPECT_EQ(kernel<Gemm>(kernels, "encoder_qkv_proj"), (Gemm{.m = 180, .n = 192, .k = 64}));
  EXPECT_EQ(kernel<Gemm>(kernels, "encoder_down_proj"), (Gemm{.m = 180, .n = 64, .k = 128}));
  EXPECT_EQ(kernel<Gemm>(kernels, "projector_proj"), (Gemm{.m = 45, .n = 256, .k = 256}));
  const auto attention = kernel<Attention>(kernels, "encoder_attention");
  EXPECT_FALSE(attention.causal);
  EXPECT_EQ(attention.page_tokens, 0);
  EXPECT_EQ(attention.query_heads, 4);
  EXPECT_THAT(
      attention.load.sequences,
      testing::ElementsAre(SequenceSlice{100, 100}, SequenceSlice{40, 40}, SequenceSlice{40, 40}));
  EXPECT_EQ(attention.load.prefill.sequences, 3);
}

TEST(EncoderKernels, WindowsCutAttentionButInSomeLayers) {
  MediaEncoder vision = small();
  vision.window = 8;
  vision.full_layers = {1};
  const KernelSequence kernels = encode(vision, {}, {{1, 100, 25}});
  std::vector<int> calls;
  std::vector<std::size_t> sequences;
  for (const KernelCall& call : kernels) {
    if (call.role != "encoder_attention") continue;
    calls.push_back(call.calls);
    sequences.push_back(std::get<Attention>(call.kernel).load.sequences.size());
  }
  EXPECT_THAT(calls, testing::ElementsAre(1, 2));
  EXPECT_THAT(sequences, testing::ElementsAre(1U, 2U));  // 64 and 36 patches
}

TEST(EncoderKernels, RanksShareEachLayer) {
  const KernelSequence kernels = encode(small(), {.tensor = 2}, two);
  EXPECT_EQ(kernel<Gemm>(kernels, "encoder_qkv_proj"), (Gemm{.m = 180, .n = 96, .k = 64}));
  EXPECT_EQ(kernel<Gemm>(kernels, "encoder_o_proj"), (Gemm{.m = 180, .n = 64, .k = 32}));
  EXPECT_EQ(kernel<Attention>(kernels, "encoder_attention").query_heads, 2);
  const auto sum = std::get<Collective>(find(kernels, "encoder_mlp_all_reduce").kernel);
  EXPECT_EQ(sum.ranks, 2);
  EXPECT_EQ(sum.bytes, 180 * 64 * 2);
  EXPECT_EQ(std::get<Collective>(find(kernels, "projector_all_reduce").kernel).bytes, 45 * 512 * 2);
}

// The first image alone has more patches than the second: each rank encodes one.
TEST(EncoderKernels, RanksShareTheImages) {
  const KernelSequence kernels = encode(small(), {.tensor = 2, .encoder_by_data = true}, two);
  EXPECT_EQ(kernel<Gemm>(kernels, "encoder_qkv_proj"), (Gemm{.m = 100, .n = 192, .k = 64}));
  const auto gather = std::get<Collective>(find(kernels, "encoder_all_gather").kernel);
  EXPECT_EQ(gather.op, CollectiveOp::all_gather);
  EXPECT_EQ(gather.bytes, 2 * 25 * 512 * 2);  // as if both had the larger one's tokens
  EXPECT_EQ(encode(small(), {.tensor = 1, .encoder_by_data = true}, two).size(), 13U);
}

TEST(EncoderKernels, DeepstackHasAProjectorForEachOfItsLayers) {
  MediaEncoder vision = small();
  vision.deepstack = 2;
  EXPECT_EQ(find(encode(vision, {}, two), "projector_proj").calls, 3);
  EXPECT_EQ(vision.values_per_token(), 3 * 512);
}

TEST(EncoderKernels, RanksThatDoNotDivideItAreTold) {
  EXPECT_EQ(encoder_problem(small(), {.tensor = 8}),
            "8 tensor-parallel ranks do not divide the image encoder's 4 heads");
  EXPECT_EQ(encoder_problem(small(), {.tensor = 8, .encoder_by_data = true}), "");
  MediaEncoder odd = small();
  odd.intermediate = 129;
  EXPECT_EQ(encoder_problem(odd, {.tensor = 2}),
            "2 tensor-parallel ranks do not divide the image encoder's 129 columns of an MLP");
}

}  // namespace
}  // namespace foretoken::encoder_kernels_test
