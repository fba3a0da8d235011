// Attention to the latents that an index picked, by the kernel that each engine launches for it.
#include <gmock/gmock.h>

#include "hardware/gpu.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::latent_times_test {
namespace {

struct Case {
  Framework framework = Framework::sglang;
  int heads = 64;
  DType latents = DType::bf16;
  std::int64_t sequences = 1, queries = 8192, context = 65'536;
  const char* gpu = "h100-sxm";
};

SparseAttention kernel_of(const Case& asked) {
  SparseAttention kernel{.query_heads = asked.heads,
                         .kv_heads = 1,
                         .key_dim = 576,
                         .value_dim = 512,
                         .values_are_keys = true,
                         .selected = 2048,
                         .kv_dtype = asked.latents};
  kernel.load = AttentionLoad::exact(std::vector<SequenceSlice>(
      static_cast<std::size_t>(asked.sequences), {asked.queries, asked.context}));
  kernel.implementation.framework = asked.framework;
  return kernel;
}

double price(const Case& asked) {
  const auto predictor = default_synperf();
  return predictor->predict(kernel_of(asked), load_gpu(asked.gpu, {})).time.value() * 1e6;
}

/// flash_mla_sparse_fwd: 12 us of a query and 32 tiles of 64 keys, 1.6 us each, on one SM of 132.
TEST(LatentTimes, APromptsQueryIsWalkedByOneSm) {
  EXPECT_NEAR(price({}), 63 * (12 + 32 * 1.63), 0.05 * price({}));
  const double one = price({.queries = 4});
  EXPECT_NEAR(one, 63, 6);
  EXPECT_NEAR(price({.queries = 100}), one, 0.1 * one);
}

TEST(LatentTimes, FewHeadsAreFilledUpTo64) {
  for (const Framework framework : {Framework::vllm, Framework::sglang}) {
    const double full = price({.framework = framework});
    EXPECT_NEAR(price({.framework = framework, .heads = 8}), full, 0.01 * full);
    EXPECT_NEAR(price({.framework = framework, .heads = 128}), 2 * full, 0.05 * full);
  }
}

/// DeepSeek-V4's, on a rank of eight.
TEST(LatentTimes, CompressedPromptsAreFilledUpTo64) {
  const auto of_heads = [](int heads) {
    SparseAttention kernel = kernel_of({.heads = heads, .latents = DType::fp8});
    kernel.key_dim = 512;
    kernel.window = 128;
    kernel.ratio = 128;
    kernel.selected = 0;
    return default_synperf()->predict(kernel, load_gpu("h100-sxm", {})).time;
  };
  EXPECT_EQ(of_heads(8), of_heads(64));
  EXPECT_EQ(of_heads(65), of_heads(128));
  EXPECT_GT(of_heads(65), of_heads(64));
}

/// vLLM's paged kernel reads 8-bit latents where a rank has fewer than 32 heads, SGLang's always.
TEST(LatentTimes, EightBitLatentsOfPromptsGoThroughThePagedKernel) {
  const double vllm = price({.framework = Framework::vllm});
  const double few =
      price({.framework = Framework::vllm, .heads = 16, .latents = DType::fp8}) / vllm;
  EXPECT_THAT(few, testing::AllOf(testing::Gt(1.6), testing::Lt(2.1)));
  EXPECT_NEAR(price({.framework = Framework::vllm, .heads = 32, .latents = DType::fp8}), vllm,
              0.01 * vllm);
  const double sglang = price({.latents = DType::fp8}) / price({});
  EXPECT_THAT(sglang, testing::AllOf(testing::Gt(1.4), testing::Lt(1.7)));
}

TEST(LatentTimes, VllmWalksWhatWasPickedAndSglangAllSlots) {
  const Case brief{.sequences = 32, .queries = 256, .context = 256};
  Case asked = brief;
  EXPECT_GT(price(asked), 0.9 * price({}));
  asked.framework = Framework::vllm;
  EXPECT_LT(price(asked), 0.5 * price({.framework = Framework::vllm}));
}

TEST(LatentTimes, BlackwellReadsEightBitLatentsFaster) {
  EXPECT_LT(price({.latents = DType::fp8, .gpu = "b200-sxm"}), 0.6 * price({.gpu = "b200-sxm"}));
  EXPECT_LT(price({.gpu = "b200-sxm"}), 1.2 * price({}));
}

/// 64 decodes: 142 us of an SM for each in 8 bit (22 us at least), DRAM in 16.
TEST(LatentTimes, DecodesAreSplitOverTheSms) {
  Case asked{.latents = DType::fp8, .sequences = 64, .queries = 1};
  EXPECT_NEAR(price(asked), 22 + 64 / 132.0 * 142 * 1755 / 1830, 0.5);
  EXPECT_NEAR(price({.latents = DType::fp8, .queries = 1}), 23, 0.5);
  asked.latents = DType::bf16;
  const double bytes = kernel_work(kernel_of(asked)).dram_bytes.value();
  EXPECT_NEAR(price(asked), 17 + bytes / (3352e9 * 0.74) * 1e6, 0.5);
}

// Blocks of an H100: 1.2 us a query of one head and 1.34 of 64, 2.67 of 128; 0.17 ms of a decode.
TEST(LatentTimes, TrtllmGivesAQueryOneSmOfAHopper) {
  const auto time = [&](int heads, std::int64_t sequences, std::int64_t queries) {
    return price({.framework = Framework::trtllm,
                  .heads = heads,
                  .sequences = sequences,
                  .queries = queries});
  };
  EXPECT_NEAR(time(64, 1, 8192) / 8192, 1.4, 0.1);
  EXPECT_NEAR(time(128, 1, 8192) / 8192, 2.8, 0.2);
  EXPECT_NEAR(time(1, 1, 1), 190, 20);
  EXPECT_EQ(time(64, 132, 1), time(64, 1, 1));
  EXPECT_GT(time(64, 133, 1), 1.8 * time(64, 132, 1));
}

// Of a B200: 0.21 ns a picked key with 64 heads and 0.23 with 128, half of it in 8 bit.
TEST(LatentTimes, TrtllmWalksWhatWasPickedOnBlackwell) {
  const auto time = [&](int heads, DType latents, std::int64_t context) {
    return price({.framework = Framework::trtllm,
                  .heads = heads,
                  .latents = latents,
                  .sequences = 8192 / 256,
                  .queries = 256,
                  .context = context,
                  .gpu = "b200-sxm"});
  };
  const auto per_key = [&](int heads, DType latents) {
    const double keys = 8192.0 * (2048 - 256);
    return (time(heads, latents, 4096) - time(heads, latents, 384)) / keys * 1e3;
  };
  EXPECT_NEAR(per_key(64, DType::bf16), 0.213, 0.03);
  EXPECT_NEAR(per_key(128, DType::bf16), 0.233, 0.03);
  EXPECT_NEAR(per_key(64, DType::fp8), 0.106, 0.02);
}

// Its index decodes in more launches than SGLang's, and picks by one that takes 22 us or more.
TEST(LatentTimes, TrtllmsIndexDecodesInMoreLaunches) {
  int compressed = 1;
  const auto time = [&](Framework framework, std::int64_t context) {
    const auto predictor = default_synperf();
    KeyIndexer index{.heads = 64, .head_dim = 128, .selected = 2048, .ratio = compressed};
    index.load = AttentionLoad::exact(std::vector<SequenceSlice>(32, {1, context}));
    index.implementation.framework = framework;
    return predictor->predict(index, load_gpu("b200-sxm", {})).time.value() * 1e6;
  };
  const auto more = [&](std::int64_t context) {
    return time(Framework::trtllm, context) - time(Framework::vllm, context);
  };
  EXPECT_NEAR(more(1024), 16, 4);
  EXPECT_NEAR(more(4096), 16 + 34, 8);
  compressed = 4;
  EXPECT_NEAR(more(16'384), 0, 1) << "DeepSeek-V4's index: blocks show neither";
}

TEST(LatentTimes, MoreWorkNeverCostsLess) {
  for (const char* gpu : {"h100-sxm", "b200-sxm", "a100-sxm"}) {
    for (const Framework framework : {Framework::vllm, Framework::sglang, Framework::trtllm}) {
      for (const DType latents : {DType::bf16, DType::fp8}) {
        double decode = 0, prompt = 0;
        for (std::int64_t count = 1; count < 3000; count = count * 5 / 3 + 1) {
          const double more_decodes = price({.framework = framework,
                                             .latents = latents,
                                             .sequences = count,
                                             .queries = 1,
                                             .gpu = gpu});
          const double more_queries =
              price({.framework = framework, .latents = latents, .queries = count + 1, .gpu = gpu});
          EXPECT_GE(more_decodes, decode) << gpu << ", decodes " << count;
          // The network sags between the few numbers of queries in its table.
          EXPECT_GE(more_queries, 0.96 * prompt) << gpu << ", queries " << count + 1;
          const Kernel kernel = kernel_of(
              {.framework = framework, .latents = latents, .sequences = count, .queries = 1});
          EXPECT_GE(more_decodes, least_time(kernel, load_gpu(gpu, {})).time.value() * 1e6);
          decode = more_decodes;
          prompt = more_queries;
        }
      }
    }
  }
}

// GLM-5's table: 2.1 ms for 128 prompts of 32 tokens before 2,048 and before 163,840 (64 heads).
TEST(LatentTimes, LongContextsOfManyPromptsCostWhatIsPicked) {
  for (const char* gpu : {"h100-sxm", "b200-sxm"}) {
    const auto at = [&](std::int64_t context) {
      return price({.heads = 128,
                    .latents = DType::fp8,
                    .sequences = 128,
                    .queries = 32,
                    .context = context,
                    .gpu = gpu});
    };
    const double picked = at(4096);
    for (const std::int64_t context : {16'000, 32'768, 65'536}) {
      EXPECT_NEAR(at(context) / picked, 1, 0.03) << gpu << ", " << context;
    }
  }
}

// The same table, H100: 128 queries take 60 us before 2,048 and before 202,752 tokens, which is
// less than reading all of these.
TEST(LatentTimes, QueriesOfAPromptShareWhatTheyPick) {
  const auto at = [](std::int64_t context) {
    return price({.framework = Framework::sglang, .queries = 128, .context = context});
  };
  EXPECT_NEAR(at(202'752) / at(4096), 1, 0.03);
  const auto bytes = [](std::int64_t queries, std::int64_t context) {
    return sparse_attention_work(kernel_of({.queries = queries, .context = context}))
        .dram_bytes.value();
  };
  EXPECT_EQ(bytes(128, 202'752), bytes(128, 16'384)) << "8 x 2,048 tokens";
  EXPECT_GT(bytes(128, 16'384), bytes(128, 8192));
  EXPECT_EQ(bytes(1, 202'752), bytes(1, 2048));
}

// The same by sums as sequence by sequence.
TEST(LatentTimes, LongContextsAreCutInSumsToo) {
  const auto h100 = load_gpu("h100-sxm", {});
  const auto predictor = default_synperf();
  SparseAttention kernel = kernel_of({.sequences = 64, .queries = 128, .context = 100'000});
  const Seconds exact = predictor->predict(kernel, h100).time;
  kernel.load.sequences.clear();
  EXPECT_NEAR(predictor->predict(kernel, h100).time / exact, 1, 1e-6);
}

}  // namespace
}  // namespace foretoken::latent_times_test
