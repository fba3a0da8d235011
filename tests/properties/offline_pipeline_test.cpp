// Batches that come at once through a pipeline, as engines fill it.
#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::offline_pipeline_test {
namespace {

/// When the last of a batch that came at once has ended, under vLLM's preset on TP4 PP2.
std::optional<double> offline_end(int requests, const std::vector<std::string>& overrides) {
  const std::string text = fmt::format(R"(
[model]
name = "llama-3.1-70b"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 4
pipeline_parallel = 2
[engine]
preset = "vllm-v1"
[predictor]
name = "roofline"
[workload]
arrivals = "all_at_once"
requests = {}
prompt_tokens = 100
output_tokens = 100
)",
                                       requests);
  return in_child([&] {
    double end = 0;
    for (const RequestRow& row : run_scenario(scenario_from(text, overrides), Catalogs()).rows)
      end = std::max(end, row.finished_s.value_or(0));
    return end;
  });
}

// Engines do not split a step's sequences: 64 prompts that fit into one step (8,192 tokens) go
// round together and leave one of two stages idle, as with one step in flight. A thousand come in
// thirteen steps, whose sequences take turns.
TEST(Pipelines, AnOfflineBatchFillsThemOnlyIfItEntersInSeveralSteps) {
  const std::vector<std::string> one_in_flight = {"deployment.micro_batches=1"};
  const auto small = offline_end(64, {}), small_one = offline_end(64, one_in_flight);
  ASSERT_TRUE(small && small_one);
  EXPECT_NEAR(*small / *small_one, 1, 0.02);
  const auto large = offline_end(1000, {}), large_one = offline_end(1000, one_in_flight);
  ASSERT_TRUE(large && large_one);
  EXPECT_LT(*large / *large_one, 0.75);
}

}  // namespace
}  // namespace foretoken::offline_pipeline_test
