// Names and hashes of kernels: the hash must see every field.
#include "kernels/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace foretoken {
namespace {

/// One copy of `base` for each of `changes`, with that change applied.
template <class Struct, class... Changes>
void add_changes(std::vector<Kernel>& kernels, const Struct& base, Changes... changes) {
  const auto add = [&](auto change) {
    Struct changed = base;
    change(changed);
    kernels.emplace_back(std::move(changed));
  };
  (add(changes), ...);
}

template <class Struct, class... Changes>
void add_variants(std::vector<Kernel>& kernels, const Struct& base, Changes... changes) {
  kernels.emplace_back(base);
  add_changes(kernels, base, changes...);
}

template <class Struct>
void add_row_kernel(std::vector<Kernel>& kernels) {
  add_variants(
      kernels, Struct{8, 16, DType::bf16}, [](auto& k) { k.tokens = 9; },
      [](auto& k) { k.dim = 17; }, [](auto& k) { k.dtype = DType::fp16; });
  if constexpr (requires { Struct{}.is_cold; }) {
    kernels.push_back(Struct{8, 16, DType::bf16, false});
  }
}

template <class Struct>
void add_head_kernel(std::vector<Kernel>& kernels) {
  add_variants(
      kernels, Struct{8, 4, 16, DType::bf16}, [](auto& k) { k.tokens = 9; },
      [](auto& k) { k.heads = 5; }, [](auto& k) { k.head_dim = 17; },
      [](auto& k) { k.dtype = DType::fp16; }, [](auto& k) { k.is_cold = false; });
}

template <class Struct>
void add_load_changes(std::vector<Kernel>& kernels, const Struct& base) {
  for (const bool decode : {false, true}) {
    const auto sums = [decode](Struct& k) -> LoadSums& {
      return decode ? k.load.decode : k.load.prefill;
    };
    add_changes(
        kernels, base, [&](auto& k) { sums(k).sequences += 1; },
        [&](auto& k) { sums(k).query_tokens += 1; }, [&](auto& k) { sums(k).context_tokens += 1; },
        [&](auto& k) { sums(k).context_tokens_max += 1; },
        [&](auto& k) { sums(k).query_tokens_max += 1; },
        [&](auto& k) { sums(k).causal_pairs += 1; });
  }
  add_changes(
      kernels, base, [](auto& k) { k.load.sequences.clear(); },
      [](auto& k) { k.load.sequences[0].query_tokens += 1; },
      [](auto& k) { k.load.sequences[0].context_tokens += 1; },
      [](auto& k) { std::swap(k.load.sequences[0], k.load.sequences[1]); });
}

std::vector<Kernel> one_of_every_change() {
  std::vector<Kernel> kernels;
  add_variants(
      kernels, Gemm{8, 16, 32, DType::bf16}, [](auto& k) { k.m = 9; }, [](auto& k) { k.n = 17; },
      [](auto& k) { k.k = 33; }, [](auto& k) { k.dtype = DType::fp8; },
      [](auto& k) { std::swap(k.m, k.n); });
  const AttentionLoad load = AttentionLoad::exact({{4, 8}, {1, 5}});
  const Attention attention{8, 4, 64, DType::bf16, DType::bf16, true, 0, 16, load};
  add_variants(
      kernels, attention, [](auto& k) { k.query_heads = 16; }, [](auto& k) { k.kv_heads = 8; },
      [](auto& k) { k.head_dim = 128; }, [](auto& k) { k.dtype = DType::fp16; },
      [](auto& k) { k.kv_dtype = DType::fp8; }, [](auto& k) { k.causal = false; },
      [](auto& k) { k.window = 4; }, [](auto& k) { k.page_tokens = 32; });
  add_load_changes(kernels, attention);
  const Mla mla{16, 512, 64, DType::bf16, DType::bf16, load};
  add_variants(
      kernels, mla, [](auto& k) { k.query_heads = 32; }, [](auto& k) { k.latent_dim = 256; },
      [](auto& k) { k.rope_dim = 32; }, [](auto& k) { k.dtype = DType::fp16; },
      [](auto& k) { k.kv_dtype = DType::fp8; });
  add_load_changes(kernels, mla);
  add_row_kernel<RmsNorm>(kernels);
  add_row_kernel<FusedAddRmsNorm>(kernels);
  add_row_kernel<SiluAndMul>(kernels);
  add_row_kernel<Embedding>(kernels);
  add_head_kernel<QkNorm>(kernels);
  add_head_kernel<Rope>(kernels);
  add_variants(
      kernels, KvWrite{8, 4, 64, DType::bf16, DType::bf16}, [](auto& k) { k.tokens = 9; },
      [](auto& k) { k.kv_heads = 5; }, [](auto& k) { k.head_dim = 65; },
      [](auto& k) { k.dtype = DType::fp16; }, [](auto& k) { k.kv_dtype = DType::fp8; });
  add_variants(
      kernels, Sampling{8, 16}, [](auto& k) { k.rows = 9; }, [](auto& k) { k.vocabulary = 17; },
      [](auto& k) { k.method = SamplingMethod::greedy; }, [](auto& k) { k.is_cold = false; });
  add_variants(
      kernels, TopKRouting{8, 16, 2}, [](auto& k) { k.tokens = 9; },
      [](auto& k) { k.experts = 17; }, [](auto& k) { k.topk = 3; },
      [](auto& k) { k.is_cold = false; });
  const FusedMoe moe{8, 4, 2, 64, 32, DType::bf16, 1, 1, {}};
  add_variants(
      kernels, moe, [](auto& k) { k.tokens = 9; }, [](auto& k) { k.experts = 8; },
      [](auto& k) { k.topk = 4; }, [](auto& k) { k.hidden = 65; },
      [](auto& k) { k.intermediate = 33; }, [](auto& k) { k.dtype = DType::fp8; },
      [](auto& k) { k.tp = 2; }, [](auto& k) { k.ep = 2; },
      [](auto& k) { k.routing.kind = Routing::Kind::power_law; },
      [](auto& k) { k.routing.parameter = 1.2; }, [](auto& k) { k.routing.counts = {0}; },
      [](auto& k) {
        k.routing.counts = {0, 0};
      },
      [](auto& k) {
        k.routing.counts = {0, 1};
      });
  add_variants(
      kernels, Collective{CollectiveOp::all_reduce, CommGroup::tensor_parallel, 4, 1024},
      [](auto& k) { k.op = CollectiveOp::all_gather; },
      [](auto& k) { k.group = CommGroup::expert_parallel; }, [](auto& k) { k.ranks = 8; },
      [](auto& k) { k.bytes = 1025; });
  return kernels;
}

TEST(KernelHash, DiffersWheneverAFieldDiffers) {
  const std::vector<Kernel> kernels = one_of_every_change();
  ASSERT_GT(kernels.size(), 100U);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::size_t j = 0; j < kernels.size(); ++j) {
      ASSERT_EQ(kernels[i] == kernels[j], i == j)
          << kernel_name(kernels[i]) << " " << i << " and " << j;
      EXPECT_EQ(kernel_hash(kernels[i]) == kernel_hash(kernels[j]), i == j)
          << kernel_name(kernels[i]) << " " << i << " and " << j;
    }
  }
}

TEST(KernelHash, NegativeZeroEqualsZero) {
  const Kernel zero = Collective{.bytes = 0.0};
  const Kernel negative_zero = Collective{.bytes = -0.0};
  ASSERT_EQ(zero, negative_zero);
  EXPECT_EQ(kernel_hash(zero), kernel_hash(negative_zero));
}

// A memo's buckets are chosen by the low bits: a million GEMM shapes over 2^20 of them. Random
// filling leaves 1/e = 36.8 % empty.
TEST(KernelHash, SpreadsItsLowBits) {
  constexpr std::size_t buckets = 1U << 20;
  std::vector<bool> used(buckets);
  for (std::int64_t m = 1; m <= 1024; ++m) {
    for (std::int64_t n = 64; n <= 65536; n += 64)
      used[kernel_hash(Gemm{m, n, 4096}) % buckets] = true;
  }
  const auto empty = std::ranges::count(used, false);
  EXPECT_NEAR(static_cast<double>(empty) / buckets, 0.368, 0.01);
}

TEST(KernelName, IsTheTypeOrTheCollectivesOperation) {
  EXPECT_EQ(kernel_name(Gemm{}), "gemm");
  EXPECT_EQ(kernel_name(FusedAddRmsNorm{}), "fused_add_rms_norm");
  EXPECT_EQ(kernel_name(TopKRouting{}), "topk_routing");
  EXPECT_EQ(kernel_name(BatchedGemm{}), "batched_gemm");
  EXPECT_EQ(kernel_name(FusedMoe{}), "fused_moe");
  EXPECT_EQ(kernel_name(Collective{.op = CollectiveOp::reduce_scatter}), "reduce_scatter");
  std::set<std::string_view> names;
  for (const Kernel& kernel : one_of_every_change()) names.insert(kernel_name(kernel));
  EXPECT_EQ(names.size(), 15U);  // 14 alternatives, two operations of the last
}

}  // namespace
}  // namespace foretoken
