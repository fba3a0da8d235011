// A published effect: how many machines of a cluster should compute prompts and how many tokens
// follows the lengths of prompts and answers.

#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::pool_ratio_test {
namespace {

struct Lengths {
  int prompt;
  double prompt_sigma;
  int output;
};

/// Whether 90 % of requests at that rate get their first token within 1 s and the others within
/// 40 ms each, on 8 nodes of which `prefill` compute prompts.
bool holds(const Lengths& lengths, int prefill, double rate) {
  const std::string text =
      fmt::format(R"(
[model]
name = "llama-3.1-70b"
[cluster]
name = "h100-sxm-8x8"
[deployment]
prefill_router = "least_outstanding"
decode_router = "least_outstanding"
[engine]
batch_tokens_max = 2048
[pool.prompt]
role = "prefill"
tensor_parallel = 8
replicas = {}
[pool.token]
role = "decode"
tensor_parallel = 8
replicas = {}
[workload]
arrivals = "poisson"
rate = "{} /s"
requests = 800
prompt_tokens = {{ distribution = "lognormal", median = {}, sigma = {}, max = 8000 }}
output_tokens = {{ distribution = "lognormal", median = {}, sigma = 0.9, max = 2000 }}
[slo]
ttft = "1 s"
tpot = "40 ms"
percentile = 90
[run]
intervals = "none"
)",
                  prefill, 8 - prefill, rate, lengths.prompt, lengths.prompt_sigma, lengths.output);
  const auto attained =
      in_child([&] { return run_scenario(scenario_from(text), Catalogs()).slo.attainment; });
  return attained.value() >= 0.9;
}

/// Steps of 15 % from 30 requests a second on.
double highest_rate(const Lengths& lengths, int prefill) {
  double rate = 30;
  while (holds(lengths, prefill, rate)) rate *= 1.15;
  return rate;
}

int best_prefill(const Lengths& lengths) {
  int best = 0;
  double highest = 0;
  for (int prefill = 3; prefill < 8; ++prefill) {
    const double rate = highest_rate(lengths, prefill);
    if (rate <= highest) continue;
    highest = rate;
    best = prefill;
  }
  return best;
}

constexpr Lengths coding = {1500, 0.8, 13}, conversation = {1020, 0.9, 129};

// Splitwise (arXiv 2311.18677, ISCA 2024, section VI-B): of 40 DGX-H100 35 compute prompts for
// coding (median prompt 1,500 tokens, answer 13), 25 for conversation (1,020 and 129): 7 and 5
// of 8. Here they are 7 and 6.
TEST(PublishedPoolRatio, OfManyFollowsTheTraffic) {
  EXPECT_EQ(best_prefill(coding), 7);
  const int of_conversation = best_prefill(conversation);
  EXPECT_GE(of_conversation, 5);
  EXPECT_LE(of_conversation, 6);
}

// At what each's best still holds, the other's does not.
TEST(PublishedPoolRatio, CodingWantsMorePrefillThanConversation) {
  EXPECT_TRUE(holds(coding, 7, 66));
  EXPECT_FALSE(holds(coding, 6, 66));
  EXPECT_TRUE(holds(conversation, 6, 85));
  EXPECT_FALSE(holds(conversation, 7, 85));
}

}  // namespace
}  // namespace foretoken::pool_ratio_test
