// What engines launch around attention to chosen latents and compressed keys.
#include <gtest/gtest.h>

#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

// Overlapping pairs of 512 keys and as many scores: 2,048 numbers of 32 bits are 8 KiB to read and
// to write, as keys and values of 16 heads of 128 in 16 bits. An index's keys are 128 wide.
TEST(CompressedAttention, CompressorsWriteTheirStateIn32Bits) {
  const KernelSequence sequence =
      generate(model("deepseek-v4-flash"), {}, {.dtype = DType::fp8_block}, batch_of_100(), 0);
  const auto of_role = [&](std::string_view role) {
    return std::ranges::find_if(
        sequence, [&](const KernelCall& call) { return call.role == role && call.calls > 1; });
  };
  const auto index = of_role("index_state_write");
  ASSERT_NE(index, sequence.end());
  EXPECT_EQ(std::get<KvWrite>(index->kernel), (KvWrite{100, 4, 128}));
  const auto own = std::ranges::find(sequence, "kv_state_write", &KernelCall::role);
  ASSERT_NE(own, sequence.end());
  EXPECT_EQ(std::get<KvWrite>(own->kernel), (KvWrite{100, 16, 128}));
  EXPECT_EQ(std::get<Gemm>(of_role("kv_compressor")->kernel).dtype, DType::bf16);
  EXPECT_EQ(std::get<Gemm>(of_role("index_weights_proj")->kernel).dtype, DType::bf16);
}

/// "query_padding 36x512": passes around attention, heads and width, in the order they first come.
std::string passes(Framework framework, int tensor, const std::string& name = "deepseek-v4-flash") {
  ExecutionSettings settings{.dtype = DType::fp8_block};
  settings.implementation.framework = framework;
  std::string found;
  for (const KernelCall& call :
       generate(model(name), {.tensor = tensor}, settings, batch_of_100(), 0)) {
    const auto* pass = std::get_if<Rope>(&call.kernel);
    const bool is_around = call.role.starts_with("query_") || call.role.starts_with("o_") ||
                           call.role == "index_slots";
    if (pass == nullptr || !is_around) continue;
    const std::string own = fmt::format("{} {}x{} ", call.role, pass->heads, pass->head_dim);
    if (found.find(own) == std::string::npos) found += own;
  }
  return found;
}

// 8 of 64 heads a rank: 8 are read and 64 written, as many bytes as 36 rotated in place.
TEST(CompressedAttention, VllmPadsQueriesToSixtyFourHeads) {
  EXPECT_EQ(passes(Framework::vllm, 8), "query_padding 36x512 o_rotate 8x512 ");
  EXPECT_EQ(passes(Framework::vllm, 1), "o_rotate 64x512 ");
  EXPECT_EQ(passes(Framework::trtllm, 8), "o_rotate 8x512 ");
}

// 2,048 chosen keys of 32 bits are as many bytes as 32 heads of 128; 16 of 128 heads a rank.
TEST(CompressedAttention, VllmJoinsQueriesOfLatentsAndFindsSlots) {
  EXPECT_EQ(passes(Framework::vllm, 8, "deepseek-v3.2"),
            "query_joining 16x576 query_padding 40x576 index_slots 32x128 ");
  EXPECT_EQ(passes(Framework::vllm, 1, "deepseek-v3.2"),
            "query_joining 128x576 index_slots 32x128 ");
  EXPECT_EQ(passes(Framework::sglang, 8, "deepseek-v3.2"), "");
}

// 64 of 512 values are rotated; 4 scales of 32 bits a head, 8 halves, are rounded four times.
TEST(CompressedAttention, SglangRotatesQuantisesAndRoundsScales) {
  ExecutionSettings settings{.dtype = DType::fp8_block};
  settings.implementation.framework = Framework::sglang;
  int rotated = 0, rounded = 0;
  for (const KernelCall& call :
       generate(model("deepseek-v4-flash"), {.tensor = 8}, settings, batch_of_100(), 0)) {
    if (call.role == "o_rotate") {
      EXPECT_EQ(call.kernel, handed_on(Rope{100, 8, 64}));
      rotated += call.calls;
    }
    if (call.role == "o_quantise") {
      EXPECT_EQ(call.kernel, handed_on(Rope{100, 8, 512}));
    }
    if (call.role == "o_scale_rounding") {
      EXPECT_EQ(call.kernel, handed_on(Rope{100, 8, 8}));
      rounded += call.calls;
    }
  }
  EXPECT_EQ(rotated, 43);
  EXPECT_EQ(rounded, 4 * 43);
}

}  // namespace
}  // namespace foretoken
