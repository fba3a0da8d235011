// Pipelines by hand: stages of unequal length, batches that queue in front of them, and the bubbles
// that come out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "sim/serving/replica.hpp"

namespace foretoken::pipeline_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double launch_s = 1e-3;

class FixedPrice final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel&, const GpuSpec&) const override {
    return {Seconds(launch_s), Bound::dram, Origin::analytic};
  }
};

/// Instead of a front end: only keeps the records.
class Records final : public RequestListener {
 public:
  explicit Records(Timeline& timeline) : timeline_(timeline) {}
  void on_first_token(RequestId, Seconds) override {}
  void on_request_ended(const RequestRecord& record) override { timeline_.record_request(record); }
  void on_request_lost(const RequestRecord&) override {}

 private:
  Timeline& timeline_;
};

/// Submits a prompt of 64 tokens at a date.
class LatePrompt final : public EventHandler {
 public:
  LatePrompt(Replica& replica, std::uint32_t id) : replica_(replica), id_(id) {}
  void on_event(std::uint64_t) override {
    Request request;
    request.id = {id_};
    request.prompt_tokens = 64;
    request.output_tokens = 1;
    replica_.submit(request, new_record(request));
  }

 private:
  Replica& replica_;
  std::uint32_t id_;
};

struct StageSpan {
  int stage;
  double start, end;
};

class Spans final : public StepObserver {
 public:
  void on_step(ReplicaId, int stage, Seconds start, Seconds duration, const Batch&) override {
    spans.push_back({stage, start.value(), (start + duration).value()});
  }
  std::vector<StageSpan> spans;
};

class PipelineTest : public ::testing::Test {
 protected:
  /// `prompts` requests of 64 tokens with one output token each, one prompt a step.
  void run(int stages, int prompts, int micro_batches = 0) {
    layout.pipeline = stages;
    const ClusterSpec cluster = usual_cluster(gpu, stages);
    Platform platform(cluster);
    Diagnostics diagnostics;
    const Value empty;
    TableReader options(empty, diagnostics, "");
    ReplicaConfig config;
    config.context_max = 1000;
    config.micro_batches = micro_batches;
    config.host.pipeline_fill = fill;
    config.comm.parameters.inside.of(Protocol::direct).share = 1;
    std::vector<std::unique_ptr<StagePricer>> pricers;
    for (int stage = 0; stage < stages; ++stage) {
      pricers.push_back(std::make_unique<StagePricer>(model, layout, ExecutionSettings{}, stage,
                                                      GroupLinks{}, comm, predictor));
      config.pricers.push_back(pricers.back().get());
      config.stage_gpus.push_back({GpuId{static_cast<std::uint32_t>(stage)}});
      GroupLinks send;
      send.ranks = send.ranks_per_node_max = send.ranks_per_node_min = 2;
      send.inside_latency = Seconds(send_s);
      send.inside_bandwidth = BytesPerSecond(1e30);  // the latency is all it takes
      config.send_links.push_back(send);
    }
    const auto start_engines = [&] {
      auto cache = std::make_unique<KvCache>(1000, 16);
      auto scheduler =
          scheduler_catalog().find("vllm_v1", {}).make(options, {.batch_tokens_max = 64}, *cache);
      AttentionRanks ranks;
      ranks.add(std::move(cache), std::move(scheduler));
      return ranks;
    };
    Records records(timeline);
    Replica replica(std::move(config), platform, start_engines, timeline, records, &observer);
    for (int i = 0; i < prompts; ++i) {
      Request request;
      request.id = {static_cast<std::uint32_t>(i)};
      request.prompt_tokens = 64;
      request.output_tokens = 1;
      replica.submit(request, new_record(request));
    }
    LatePrompt late(replica, static_cast<std::uint32_t>(prompts));
    if (late_s > 0) platform.at(Seconds(late_s), late, 0);
    platform.run();
    replica.abandon();
  }

  /// When steps began.
  [[nodiscard]] std::vector<double> entries() const {
    std::vector<double> dates;
    for (const StageSpan& span : observer.spans) {
      if (span.stage == 0) dates.push_back(span.start);
    }
    return dates;
  }

  /// Launches of a stage, 1 ms each.
  [[nodiscard]] double stage_s(int stage) const {
    BatchShape shape{.tokens = 64, .logit_rows = 1, .attention = {}};
    double calls = 0;
    for (const KernelCall& call : generate(model, layout, {}, shape, stage)) {
      if (!std::holds_alternative<Collective>(call.kernel)) calls += call.calls;
    }
    return calls * launch_s;
  }

  Transformer model = load_model("qwen3-0.6b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  MemoPredictor predictor{std::make_unique<FixedPrice>(), gpu};
  ParallelLayout layout;
  CommSettings comm;
  Timeline timeline{Seconds(0.0)};
  Spans observer;
  double send_s = 0.5e-3;
  PipelineFill fill = PipelineFill::any_time;
  double late_s = 0;  // when one prompt more comes; 0 = never
};

// 28 layers on 3 stages: 9, 10 and 9. A layer is 11 launches; the first stage adds the embedding,
// the last norm, LM head and sampling: 100, 110 and 102 ms. With three prompts, one a step:
//   stage 0   0-100      100-200      200-300
//   stage 1   100.5-210.5  210.5-320.5  320.5-430.5
//   stage 2   211-313      321-423      431-533
// The slower middle stage is always busy; the last waits 8 ms before each step.
TEST_F(PipelineTest, UnequalStagesByHand) {
  run(3, 3);
  EXPECT_NEAR(stage_s(0), 0.100, 1e-12);
  EXPECT_NEAR(stage_s(1), 0.110, 1e-12);
  EXPECT_NEAR(stage_s(2), 0.102, 1e-12);
  const std::vector<StageSpan> expected = {
      {0, 0.0, 0.1},       {0, 0.1, 0.2},       {0, 0.2, 0.3},
      {1, 0.1005, 0.2105}, {1, 0.2105, 0.3205}, {1, 0.3205, 0.4305},
      {2, 0.2110, 0.3130}, {2, 0.3210, 0.4230}, {2, 0.4310, 0.5330},
  };
  std::vector<StageSpan> spans = observer.spans;
  std::ranges::stable_sort(spans, {}, &StageSpan::stage);
  ASSERT_EQ(spans.size(), expected.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].stage, expected[i].stage);
    EXPECT_NEAR(spans[i].start, expected[i].start, 1e-9) << i;
    EXPECT_NEAR(spans[i].end, expected[i].end, 1e-9) << i;
  }
}

// With one in flight a prompt waits until the one before has left: 100 + 110 + 102 ms, two sends.
TEST_F(PipelineTest, OneMicroBatchFillsNoPipeline) {
  run(3, 2, 1);
  EXPECT_THAT(entries(), ElementsAre(0.0, DoubleNear(0.313, 1e-9)));
}

// With four the first stage never waits for the last.
TEST_F(PipelineTest, MoreMicroBatchesThanStages) {
  run(3, 4, 4);
  EXPECT_THAT(entries(), ElementsAre(0.0, DoubleNear(0.1, 1e-9), DoubleNear(0.2, 1e-9),
                                     DoubleNear(0.3, 1e-9)));
}

// As many steps are in flight as there are stages: the fourth prompt enters when the first leaves,
// at 313 ms, though the first stage is free from 300 ms on.
TEST_F(PipelineTest, NoMoreStepsInFlightThanStages) {
  run(3, 4);
  ASSERT_EQ(timeline.requests().size(), 4U);
  ASSERT_EQ(entries().size(), 4U);
  EXPECT_NEAR(entries()[3], 0.313, 1e-9);
}

// One prompt, and another at 150 ms: the first stage has been free since 100 ms and takes it at
// once. In turn the engine waits for the tokens of the step that is in flight, at 313 ms.
TEST_F(PipelineTest, WhoComesLateFillsTheFirstStage) {
  late_s = 0.150;
  run(3, 1);
  EXPECT_THAT(entries(), ElementsAre(0.0, DoubleNear(0.150, 1e-9)));
}

TEST_F(PipelineTest, InTurnWhoComesLateWaitsForTheOldestStep) {
  late_s = 0.150;
  fill = PipelineFill::in_turn;
  run(3, 1);
  EXPECT_THAT(entries(), ElementsAre(0.0, DoubleNear(0.313, 1e-9)));
}

// In turn the second prompt follows as its stage gets free; then nobody is there until the first
// has left at 313 ms, and the third does not get in at 250 ms.
TEST_F(PipelineTest, InTurnStepsFollowWhileSomebodyCanRun) {
  late_s = 0.250;
  fill = PipelineFill::in_turn;
  run(3, 2);
  EXPECT_THAT(entries(), ElementsAre(0.0, DoubleNear(0.1, 1e-9), DoubleNear(0.313, 1e-9)));
}

// Any number of equal steps through stages of any length is a flow shop: a step starts on a stage
// when it has arrived and the stage is free, and on the first when a slot is.
TEST_F(PipelineTest, LongQueuesFollowTheFlowShopRecurrence) {
  constexpr int stages = 5, prompts = 40;
  run(stages, prompts);
  std::vector<std::array<double, stages>> ends(prompts);
  for (int step = 0; step < prompts; ++step) {
    const auto at = [&](int s) -> std::array<double, stages>& {
      return ends[static_cast<std::size_t>(s)];
    };
    double ready = step >= stages ? at(step - stages)[stages - 1] : 0.0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (step > 0) ready = std::max(ready, at(step - 1)[stage]);
      at(step)[stage] = ready + stage_s(static_cast<int>(stage));
      ready = at(step)[stage] + send_s;
    }
  }
  ASSERT_EQ(timeline.requests().size(), static_cast<std::size_t>(prompts));
  for (std::size_t i = 0; i < prompts; ++i) {
    EXPECT_NEAR(timeline.requests()[i].finished.value(), ends[i][stages - 1], 1e-9) << i;
  }
}

}  // namespace
}  // namespace foretoken::pipeline_test
