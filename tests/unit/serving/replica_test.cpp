// The replica's loop on a real clock: requests that can never fit, and who is told of what.

#include "sim/serving/replica.hpp"

#include <gtest/gtest.h>

#include "sim/serving/fleet.hpp"
#include "sim/serving/front_end.hpp"

namespace foretoken::replica_test {
namespace {

class FixedPrice final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel&, const GpuSpec&) const override {
    return {Seconds(1e-3), Bound::dram, Origin::analytic};
  }
};

/// Requests given as a list.
class ListSource final : public RequestSource {
 public:
  explicit ListSource(std::vector<Request> requests) : requests_(std::move(requests)) {}
  std::optional<Request> next() override {
    if (next_ == requests_.size()) return std::nullopt;
    return requests_[next_++];
  }
  void on_finished(RequestId id, Seconds now) override { finished.emplace_back(id, now); }
  std::vector<std::pair<RequestId, Seconds>> finished;

 private:
  std::vector<Request> requests_;
  std::size_t next_ = 0;
};

Request request(std::uint32_t id, double arrival, std::int64_t prompt, std::int64_t output) {
  Request made;
  made.id = {id};
  made.arrival = Seconds(arrival);
  made.prompt_tokens = prompt;
  made.output_tokens = output;
  return made;
}

class ReplicaTest : public ::testing::Test {
 protected:
  void run(std::vector<Request> requests, std::int64_t blocks = 100, HostKv host = {},
           HostCopies host_copies = HostCopies::layer_wise) {
    source = std::make_unique<ListSource>(std::move(requests));
    ClusterSpec cluster = usual_cluster(gpu, 1);
    cluster.node.host_link_bandwidth = BytesPerSecond(16e3);
    cluster.node.host_link_efficiency = 1.0;
    cluster.node.host_link_latency = Seconds(0.0);
    Platform platform(cluster);
    Diagnostics diagnostics;
    const Value empty;
    TableReader options(empty, diagnostics, "");
    FrontEnd front_end(platform, *source, timeline);
    Fleet fleet({}, platform,
                router_catalog().find("round_robin", {}).make(options, RandomStreams(1)),
                front_end);
    front_end.connect(fleet);
    const auto start_engines = [&] {
      auto cache = std::make_unique<KvCache>(blocks, 16, host.blocks > 0, host);
      auto scheduler = scheduler_catalog().find(scheduler_name, {}).make(options, limits, *cache);
      AttentionRanks ranks;
      ranks.add(std::move(cache), std::move(scheduler));
      return ranks;
    };
    ReplicaConfig config;
    config.stage_gpus = {{GpuId{0}}};
    config.pricers = {&pricer};
    config.send_links = {GroupLinks{}};
    config.context_max = 2000;
    config.kv_block = {Bytes(16e3)};  // a block takes one second
    config.layers = {4};
    config.host_copies = host_copies;
    config.queue_max = queue_max;
    Replica replica(config, platform, start_engines, timeline, fleet, nullptr);
    fleet.add(replica);
    front_end.start();
    platform.run();
    front_end.close();
    step_s = 1e-3 * launches();
    copy_wait = replica.copy_wait().value();
  }

  /// Every launch costs 1 ms, so a step costs as many as it has.
  [[nodiscard]] int launches() const {
    BatchShape shape;
    shape.tokens = shape.logit_rows = 1;
    int calls = 0;
    for (const KernelCall& call : generate(model, {}, {}, shape, 0)) calls += call.calls;
    return calls;
  }

  Transformer model = load_model("qwen3-0.6b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  MemoPredictor predictor{std::make_unique<FixedPrice>(), gpu};
  CommSettings comm;
  StagePricer pricer{model, {}, {}, 0, GroupLinks{}, comm, predictor};
  Timeline timeline{Seconds(0.0)};
  std::unique_ptr<ListSource> source;
  std::string scheduler_name = "vllm_v1";
  SchedulerLimits limits;
  std::int64_t queue_max = 0;
  double step_s = 0, copy_wait = 0;
};

TEST_F(ReplicaTest, DatesFollowFromTheStepsByHand) {
  // Two requests of 3 and 2 tokens arrive together; steps end after 1, 2 and 3 step lengths.
  run({request(0, 0.0, 50, 3), request(1, 0.0, 70, 2)});
  ASSERT_EQ(timeline.requests().size(), 2U);
  const RequestRecord& first = timeline.requests()[0];
  const RequestRecord& second = timeline.requests()[1];
  EXPECT_EQ(second.id.value, 1U);
  EXPECT_NEAR(first.scheduled.value(), 0.0, 1e-12);
  // The first arrival starts a step at once; the second joins at the next.
  EXPECT_NEAR(first.first_token.value(), step_s, 1e-9);
  EXPECT_NEAR(second.scheduled.value(), step_s, 1e-9);
  EXPECT_NEAR(second.first_token.value(), 2 * step_s, 1e-9);
  EXPECT_NEAR(first.finished.value(), 3 * step_s, 1e-9);
  EXPECT_NEAR(second.finished.value(), 3 * step_s, 1e-9);
  EXPECT_NEAR(first.tpot().value(), step_s, 1e-9);
  EXPECT_EQ(timeline.steps(), 3);
  EXPECT_EQ(source->finished.size(), 2U);
}

TEST_F(ReplicaTest, FailsWhatTheCacheCanNeverHoldAndServesTheRest) {
  run({request(0, 0.0, 1700, 10), request(1, 0.5, 100, 2)});  // 1,710 tokens; the cache holds 1,600
  ASSERT_EQ(timeline.requests().size(), 2U);
  EXPECT_EQ(timeline.requests()[0].status, RequestStatus::failed);
  EXPECT_EQ(timeline.requests()[0].reason, FailureReason::kv_cache);
  EXPECT_EQ(timeline.requests()[1].status, RequestStatus::completed);
  EXPECT_EQ(source->finished.size(), 2U);
}

TEST_F(ReplicaTest, FailsWhatIsLongerThanTheContext) {
  run({request(0, 0.0, 1990, 20), request(1, 0.0, 1990, 10)}, 200);  // context_max is 2,000
  ASSERT_EQ(timeline.requests().size(), 2U);
  EXPECT_EQ(timeline.requests()[0].status, RequestStatus::failed);
  EXPECT_EQ(timeline.requests()[0].reason, FailureReason::context_length);
  EXPECT_EQ(timeline.requests()[1].status, RequestStatus::completed);
}

/// Two chunks of 32 tokens, found again by a second request after a third has pushed them out of a
/// cache of 6 blocks.
std::vector<Request> pushed_out_and_found() {
  std::vector<Request> requests = {request(0, 0.0, 65, 1), request(1, 100.0, 95, 1),
                                   request(2, 200.0, 65, 1)};
  for (Request& each : requests) each.prefix_block_tokens = 32;
  requests[0].prefix_hashes = requests[2].prefix_hashes = {1, 2};
  requests[1].prefix_hashes = {11, 12};
  return requests;
}

TEST_F(ReplicaTest, CopiesRunBesideTheStepLayerByLayer) {
  run(pushed_out_and_found(), 6, {.blocks = 6});
  ASSERT_EQ(timeline.requests().size(), 3U);
  const auto ttft = [&](std::size_t i) { return timeline.requests()[i].ttft().value(); };
  EXPECT_NEAR(ttft(0), step_s, 1e-9);
  // 4 blocks go out in 4 s; of 4 layers the last one's are gone only then, and computes.
  EXPECT_NEAR(ttft(1), 4.0 + step_s / 4.0, 1e-9);
  // 4 blocks come back while 4 go: chunk 12 for the room of two, 11 for the last token's.
  EXPECT_NEAR(ttft(2), 4.0 + step_s / 4.0, 1e-9);
  EXPECT_NEAR(copy_wait, 8.0 - 2 * 0.75 * step_s, 1e-9);
}

TEST_F(ReplicaTest, CopiesBeforeTheStepAreWaitedFor) {
  run(pushed_out_and_found(), 6, {.blocks = 6}, HostCopies::before);
  ASSERT_EQ(timeline.requests().size(), 3U);
  EXPECT_NEAR(timeline.requests()[1].ttft().value(), 4.0 + step_s, 1e-9);
  EXPECT_NEAR(timeline.requests()[2].ttft().value(), 4.0 + step_s, 1e-9);
  EXPECT_NEAR(copy_wait, 8.0, 1e-9);
}

TEST_F(ReplicaTest, ASwappedRequestIsFetchedAndGoesOnWhereItWas) {
  // Each needs 3 blocks for its prompt of 48 tokens and a fourth for the first token it feeds back;
  // 7 blocks hold one to its end beside the other's prompt.
  run({request(0, 0.0, 48, 3), request(1, 0.0, 48, 3)}, 7, {.blocks = 10, .swaps = true},
      HostCopies::before);
  ASSERT_EQ(timeline.requests().size(), 2U);
  const RequestRecord& second = timeline.requests()[1];
  EXPECT_EQ(second.preemptions, 1);
  EXPECT_EQ(second.output_tokens, 3);
  EXPECT_EQ(second.status, RequestStatus::completed);
  // Steps: the first's prompt; its second token and the second's prompt; its third token, for which
  // no block is short, while the second's second token finds none: 3 blocks go out, 3 s; then the
  // second comes back, 3 s, and makes its last two tokens.
  EXPECT_NEAR(timeline.requests()[0].finished.value(), 3 * step_s + 3.0, 1e-9);
  EXPECT_NEAR(second.first_token.value(), 2 * step_s, 1e-9);
  EXPECT_NEAR(second.finished.value(), 5 * step_s + 6.0, 1e-9);
  EXPECT_NEAR(copy_wait, 6.0, 1e-9);
}

// One runs, two may wait: of five that come together the fourth and the fifth find the queue full.
// They end on arrival; the sixth comes when all is done.
TEST_F(ReplicaTest, RejectsWhoFindsTheQueueFull) {
  limits.sequences_max = 1;
  queue_max = 2;
  run({request(0, 0.0, 50, 3), request(1, 0.0, 50, 3), request(2, 0.0, 50, 3),
       request(3, 0.0, 50, 3), request(4, 0.0, 50, 3), request(5, 1e3, 50, 3)});
  ASSERT_EQ(timeline.requests().size(), 6U);
  std::vector<RequestStatus> by_id(6);
  for (const RequestRecord& record : timeline.requests()) by_id[record.id.value] = record.status;
  for (const std::uint32_t id : {0U, 1U, 2U, 5U}) EXPECT_EQ(by_id[id], RequestStatus::completed);
  for (const std::uint32_t id : {3U, 4U}) EXPECT_EQ(by_id[id], RequestStatus::rejected);
  EXPECT_EQ(timeline.requests()[0].id.value, 3U);
  EXPECT_EQ(source->finished.size(), 6U);
}

TEST_F(ReplicaTest, FailsWhatTheSchedulerRefuses) {
  scheduler_name = "orca";
  limits.batch_tokens_max = 100;
  run({request(0, 0.0, 101, 2), request(1, 0.0, 100, 2)});
  ASSERT_EQ(timeline.requests().size(), 2U);
  EXPECT_EQ(timeline.requests()[0].status, RequestStatus::failed);
  EXPECT_EQ(timeline.requests()[0].reason, FailureReason::step_tokens);
  EXPECT_EQ(timeline.requests()[1].status, RequestStatus::completed);
}

}  // namespace
}  // namespace foretoken::replica_test
