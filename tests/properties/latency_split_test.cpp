// Where requests' time goes: two requests whose schedule can be written down, and runs of every
// kind in which the parts have to add up to what each client saw.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/run/latency_collector.hpp"
#include "tests/properties/run_text.hpp"

namespace foretoken::latency_split_test {
namespace {

/// Attention takes a microsecond for each query token and layer, everything else nothing.
class TokensAsTime final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec&) const override {
    Prediction price;
    price.bound_by = Bound::tensor;
    if (const auto* attention = std::get_if<Attention>(&kernel)) {
      price.time = Seconds(1e-6 * static_cast<double>(attention->load.query_tokens()));
    }
    return price;
  }
};

constexpr double layers = 32;  // of llama-3.1-8b

std::map<std::uint32_t, LatencySplit> splits_of(Scenario scenario, Report& report) {
  if (scenario.predictor.name == "tokens") {
    // No price is below what bytes and operations need at peak: a GPU on which they need nothing.
    GpuSpec& gpu = scenario.cluster.gpu;
    gpu.clock = Hertz(std::numeric_limits<double>::infinity());
    gpu.dram_bandwidth = gpu.l2_bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  }
  Catalogs catalogs;
  catalogs.predictors.add("tokens", "a microsecond a token and layer",
                          [](TableReader&) { return std::make_unique<TokensAsTime>(); });
  LatencyCollector collector(scenario, std::nullopt);
  report = run_scenario(scenario, catalogs, {.observer = &collector});
  return collector.splits();
}

constexpr const char* two_requests = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[predictor]
name = "tokens"
detail = "plan"
[workload]
arrivals = "all_at_once"
requests = 2
prompt_tokens = 1000
output_tokens = 3
)";

TEST(LatencySplit, OneRequestBlocksTheOther) {
  // One sequence at a time: the first takes 1000 + 1 + 1 tokens, which the second queues for.
  Report report;
  const auto splits = splits_of(scenario_from(two_requests, {"engine.sequences_max=1"}), report);
  ASSERT_EQ(splits.size(), 2U);
  const double token = layers * 1e-6;
  const LatencyPhase& first = splits.at(0).to_first_token;
  EXPECT_NEAR(first.parts[LatencyCause::own_prefill], 1000 * token, 1e-12);
  EXPECT_NEAR(first.whole_s, 1000 * token, 1e-12);
  EXPECT_NEAR(splits.at(0).after.parts[LatencyCause::own_decode], 2 * token, 1e-12);

  const LatencyPhase& second = splits.at(1).to_first_token;
  EXPECT_NEAR(second.parts[LatencyCause::queueing], 1002 * token, 1e-12);
  EXPECT_NEAR(second.while_queueing[LatencyCause::others_prefill], 1000 * token, 1e-12);
  EXPECT_NEAR(second.while_queueing[LatencyCause::others_decode], 2 * token, 1e-12);
  EXPECT_NEAR(second.parts[LatencyCause::own_prefill], 1000 * token, 1e-12);
  EXPECT_NEAR(second.whole_s, 2002 * token, 1e-12);
  ASSERT_EQ(second.kernels.size(), 1U);  // of all steps that it waited for
  EXPECT_EQ(second.kernels.front().bound, "tensor");
  EXPECT_NEAR(second.kernels.front().seconds, 2002 * token, 1e-12);
}

TEST(LatencySplit, APromptSlowsTheDecodeBesideIt) {
  // The first prompt alone; then its decode (1 token) beside the second's 1000; then both decode.
  Report report;
  const auto splits = splits_of(
      scenario_from(two_requests, {"engine.batch_tokens_max=1001", "engine.sequences_max=2"}),
      report);
  const double token = layers * 1e-6;
  EXPECT_NEAR(splits.at(0).to_first_token.whole_s, 1000 * token, 1e-12);
  const LatencyPhase& decoding = splits.at(0).after;
  EXPECT_NEAR(decoding.whole_s, (1001 + 2) * token, 1e-12);
  EXPECT_NEAR(decoding.parts[LatencyCause::others_prefill], 1000 * token, 1e-12);
  EXPECT_NEAR(decoding.parts[LatencyCause::others_decode], 1 * token, 1e-12);
  EXPECT_NEAR(decoding.parts[LatencyCause::own_decode], 2 * token, 1e-12);
  // The second queues for the first's prompt, and its own takes a token longer beside the decode.
  const LatencyPhase& second = splits.at(1).to_first_token;
  EXPECT_NEAR(second.parts[LatencyCause::queueing], 1000 * token, 1e-12);
  EXPECT_NEAR(second.parts[LatencyCause::own_prefill], 1000 * token, 1e-12);
  EXPECT_NEAR(second.parts[LatencyCause::others_decode], 1 * token, 1e-12);
}

/// Every request: the parts add up to the latency, none is negative, and kernels fit into it.
void expect_whole(const Scenario& scenario) {
  Report report;
  const auto splits = splits_of(scenario, report);
  std::size_t completed = 0;
  for (const RequestRow& row : report.rows) {
    if (row.status != "completed") continue;
    ++completed;
    const LatencySplit& split = splits.at(row.id);
    EXPECT_NEAR(split.to_first_token.whole_s * 1e3, *row.ttft_ms, 1e-6);
    EXPECT_NEAR((split.to_first_token.whole_s + split.after.whole_s) * 1e3, *row.e2e_ms, 1e-6);
    for (const LatencyPhase* phase : {&split.to_first_token, &split.after}) {
      EXPECT_NEAR(phase->parts.sum(), phase->whole_s, 1e-9);
      double kernels = 0;
      for (const BoundTime& time : phase->kernels) kernels += time.seconds;
      EXPECT_LE(kernels, phase->whole_s + 1e-9);
      EXPECT_NEAR(phase->while_queueing.sum(), phase->parts[LatencyCause::queueing], 1e-9);
      for (std::size_t i = 0; i < LatencyParts::count; ++i) {
        const auto cause = static_cast<LatencyCause>(i);
        EXPECT_GE(phase->parts[cause], -1e-9) << "request " << row.id << ", " << enum_name(cause);
      }
    }
    // What is not seen must not hide behind the front end: this run has none.
    EXPECT_NEAR(split.to_first_token.parts[LatencyCause::front_end], 0, 1e-9) << row.id;
    EXPECT_NEAR(split.after.parts[LatencyCause::front_end], 0, 1e-9) << row.id;
    if (row.preemptions > 0) {
      const auto lost = [&](LatencyCause cause) {
        return split.to_first_token.parts[cause] + split.after.parts[cause];
      };
      EXPECT_GT(lost(LatencyCause::preempted) + lost(LatencyCause::recompute), 0) << row.id;
    }
  }
  EXPECT_GT(completed, 0U);
  EXPECT_EQ(splits.size(), completed);
}

// 1280 x 720 pixels are 3,520 patches and 880 tokens; the encoder has 27 layers, 16 of the language
// model's 64 have attention. The second request has the same image, which is not encoded again.
TEST(LatencySplit, ImagesAreEncodedBeforeTheirPrompt) {
  const char* const changes =
      "{ count = 1, width = 1280, height = 720, repeated = 1, different = 1 }";
  Report report;
  const auto splits =
      splits_of(scenario_from(two_requests, {"model.name=qwen3.5-27b", "workload.prompt_tokens=120",
                                             "engine.sequences_max=1",
                                             std::string("workload.images=") + changes}),
                report);
  ASSERT_EQ(splits.size(), 2U);
  const LatencyPhase& first = splits.at(0).to_first_token;
  EXPECT_NEAR(first.parts[LatencyCause::encoder], 27 * 3520e-6, 1e-12);
  EXPECT_NEAR(first.parts[LatencyCause::own_prefill], 16 * 1000e-6, 1e-12);
  EXPECT_NEAR(first.whole_s, 27 * 3520e-6 + 16 * 1000e-6, 1e-12);
  const LatencyPhase& second = splits.at(1).to_first_token;
  EXPECT_NEAR(second.parts[LatencyCause::encoder], 0, 1e-12);
  EXPECT_NEAR(second.while_queueing[LatencyCause::encoder], 27 * 3520e-6, 1e-12);
  EXPECT_NEAR(second.parts[LatencyCause::own_prefill], 16 * 1000e-6, 1e-12);
}

TEST(LatencySplit, PartsAddUpWhereImagesAreEncodedElsewhere) {
  expect_whole(
      load_scenario(FORETOKEN_SOURCE_DIR "/examples/encode_pool.toml",
                    parse_changes({"workload.requests=40", "engine.host_time='0 s'",
                                   "engine.front_end_request='0 s'", "engine.front_end_token='0 s'",
                                   "engine.front_end_output='0 s'", "workload.rate='12 /s'"})));
}

TEST(LatencySplit, PartsAddUpInBusyPipelines) {
  expect_whole(scenario_from(busy_pipelines, {"workload.requests=80"}));
}

TEST(LatencySplit, PartsAddUpWithHostTimeAndDrafts) {
  expect_whole(scenario_from(
      busy_pipelines,
      {"workload.requests=60", "engine.host_step='2 ms'", "engine.host_sequence='20 us'",
       "engine.speculative={ method = \"ngram\", drafts = 3, acceptance = 0.6 }"}));
}

TEST(LatencySplit, PartsAddUpAcrossAHandover) {
  expect_whole(load_scenario(FORETOKEN_SOURCE_DIR "/examples/disaggregated.toml",
                             parse_changes({"workload.requests=60", "engine.host_time='0 s'"})));
}

TEST(LatencySplit, PartsAddUpWithSwapping) {
  expect_whole(load_scenario(FORETOKEN_SOURCE_DIR "/examples/swap.toml",
                             parse_changes({"workload.requests=60"})));
}

}  // namespace
}  // namespace foretoken::latency_split_test
