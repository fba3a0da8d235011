// Attention's default prices come from the plan that the kernel launches: what is called on the
// way, and what moves with it.
#include <gtest/gtest.h>

#include "counted_calls.hpp"
#include "kernels/estimators/attention_schedule.hpp"
#include "kernels/predictor.hpp"
#include "sim/base/value.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::attention_plan_test {
namespace {

Attention attention(std::vector<SequenceSlice> slices,
                    KernelSource source = KernelSource::automatic,
                    Framework framework = Framework::vllm) {
  Attention kernel{32, 8, 128};
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation = {framework, source, true};
  return kernel;
}

double price_us(const Attention& kernel, const GpuSpec& gpu) {
  return default_synperf()->predict(kernel, gpu).time.value() * 1e6;
}

TEST(attention_plan, is_made_and_scheduled_for_every_price) {
  const auto predictor = default_synperf();
  const GpuSpec h100 = load_gpu("h100-sxm", {});
  for (const auto& slices : {std::vector<SequenceSlice>{{1, 900}, {1, 8000}},
                             {{500, 500}, {300, 4000}},
                             {{500, 500}, {1, 8000}}}) {
    // What larger and smaller problems of the layer cost is asked once.
    std::vector<SequenceSlice> before = slices;
    before.back().context_tokens += 1;
    static_cast<void>(predictor->predict(attention(before), h100));
    counted_calls() = {};
    static_cast<void>(predictor->predict(attention(slices), h100));
    EXPECT_EQ(counted_calls().flash_attention_3, 1);
    // Joining the parts of split sequences takes what it takes, whichever SM does it.
    EXPECT_EQ(counted_calls().schedules, 1);
  }
}

// Half the registers or shared memory of an SM: fewer CTAs at once.
TEST(attention_plan, residency_moves_prices) {
  const GpuSpec h200 = load_gpu("h200-sxm", {});
  GpuSpec few_registers = h200, small_shared = h200;
  few_registers.registers_sm /= 2;
  small_shared.shared_size_sm = small_shared.shared_size_sm * 0.5;
  for (const Framework framework : {Framework::pytorch, Framework::sglang}) {
    const auto prompts = attention(std::vector<SequenceSlice>(8, {1000, 2000}),
                                   KernelSource::flashinfer_fa2, framework);
    const double price = price_us(prompts, h200);
    EXPECT_NE(price_us(prompts, few_registers), price);
    EXPECT_NE(price_us(prompts, small_shared), price);
  }
}

// A launch of both does not pay twice for being launched.
TEST(attention_plan, prompts_beside_decodes_are_one_launch) {
  const GpuSpec h100 = load_gpu("h100-sxm", {});
  std::vector<SequenceSlice> decodes(16, {1, 2000}), prompt{{256, 256}};
  std::vector<SequenceSlice> both = decodes;
  both.insert(both.end(), prompt.begin(), prompt.end());
  const double mixed = price_us(attention(both), h100);
  EXPECT_LT(mixed, price_us(attention(decodes), h100) + price_us(attention(prompt), h100));
  EXPECT_GT(mixed, 0.9 * price_us(attention(prompt), h100));
}

// One context of 100,000 tokens among 63 of 600: the same sums as 64 equal ones, another price.
TEST(attention_plan, unequal_sequences_are_priced_by_their_tiles) {
  const GpuSpec h200 = load_gpu("h200-sxm", {});
  std::vector<SequenceSlice> slices(63, {1, 600});
  slices.push_back({1, 100'000});
  for (const Framework framework : {Framework::vllm, Framework::pytorch}) {
    const Attention uneven = attention(slices, KernelSource::automatic, framework);
    Attention sums = uneven;
    sums.load.sequences.clear();
    EXPECT_GT(price_us(uneven, h200), 1.02 * price_us(sums, h200));
  }
}

// FlashInfer's FA3 neither splits one query's context nor packs its query heads: 32 tiles, one a
// head, of which one CTA walks 800 steps of 64 keys.
TEST(attention_plan, unsplit_decodes_walk_their_context) {
  const GpuSpec h200 = load_gpu("h200-sxm", {});
  const AttentionSchedule schedule = attention_schedule(
      attention({{1, 51'200}}, KernelSource::flashinfer_fa3, Framework::pytorch), h200);
  EXPECT_EQ(schedule.tasks, 32);
  EXPECT_FALSE(schedule.is_split);
  EXPECT_NEAR(schedule.steps_in_a_row(), 800, 2);  // key tiles of 96
}

}  // namespace
}  // namespace foretoken::attention_plan_test
