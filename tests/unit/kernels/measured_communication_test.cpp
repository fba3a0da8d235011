// The database of measured communication: its laws by hand, interpolation between measured sizes,
// where it refuses, and that it reads back as it was written.
#include "kernels/communication/measured_communication.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/communication/communication_price.hpp"
#include "sim/base/json.hpp"

namespace foretoken::measured_communication_test {
namespace {

using ::testing::HasSubstr;

// us, us, GB/s as an artifact holds them.
const CommLaw two_lines = CommLaw::from_numbers(std::vector<double>{5, 1, 10, 20, 1, 100});
const CommLine short_line = two_lines.lines[0];
const CommLine long_line = two_lines.lines[1];

CommPoint reduce_of(int ranks, double bytes) {
  CommPoint point;
  point.bytes = bytes;
  point.ranks = ranks;
  point.link_rate = BytesPerSecond(400e9);
  point.compute_capability = 90;
  return point;
}

/// A forest that adds `correction` (a logarithm) below 2^15 bytes and nothing above.
RegressionForest forest_of(float correction) {
  return RegressionForest(
      {{DecisionTree({{0, 15.0F, 2}, {-1, 0, 0}, {-1, 0, 1}}), {correction, 0.0F}}});
}

MeasuredCommunication database(float correction = 0) {
  MeasuredFabric fabric{"h100-sxm", 90, BytesPerSecond(400e9), {}};
  fabric.curves.push_back({CollectiveOp::all_reduce,
                           CommLibrary::nccl,
                           CommLaunch::graph,
                           ExpertMode::normal,
                           1,
                           BytesPerSecond(0),
                           {2, 8},
                           {1024, 4096, 1 << 20},
                           two_lines});
  return {{fabric}, forest_of(correction), 0.05};
}

// 4 ranks: 6 steps, 1.5 times the bytes over the link.
// Short: 5 + 6 + 1.5 * 10,000 B / 10 GB/s = 12.5 us. Long, 1 MB: 20 + 6 + 1.5e6 / 100e9 = 41 us.
TEST(CommLaw, IsTheFasterOfTwoLines) {
  const CommLaw law{{short_line, long_line}};
  EXPECT_DOUBLE_EQ(law.time(reduce_of(4, 10'000)).value(), 12.5e-6);
  EXPECT_DOUBLE_EQ(law.time(reduce_of(4, 1e6)).value(), 41e-6);
}

// all_gather: 3 steps, 3/4; all_to_all: 1 step, 3/4; send_recv: 1 step, all of it. Low-latency
// dispatch: 8 experts, 3 of 4 elsewhere: 6 copies. Normal: 3 (1 - (3/4)^8) = 2.69966 ranks.
TEST(CommLaw, CountsStepsAndTrafficOfEachOperation) {
  const CommLaw law{{short_line, short_line}};
  CommPoint point = reduce_of(4, 10'000);
  const auto us = [&] { return law.time(point).value() * 1e6; };
  point.op = CollectiveOp::all_gather;
  EXPECT_DOUBLE_EQ(us(), 5 + 3 + 0.75);
  point.op = CollectiveOp::all_to_all;
  EXPECT_DOUBLE_EQ(us(), 5 + 1 + 0.75);
  point.op = CollectiveOp::send_recv;
  EXPECT_DOUBLE_EQ(us(), 5 + 1 + 1);
  point.op = CollectiveOp::broadcast;
  EXPECT_DOUBLE_EQ(us(), 5 + 3 + 1);
  point.op = CollectiveOp::expert_dispatch;
  point.experts = {256, 8, ExpertMode::low_latency};
  EXPECT_DOUBLE_EQ(us(), 5 + 1 + 6);
  point.experts.mode = ExpertMode::normal;
  EXPECT_NEAR(us(), 5 + 1 + 2.69966, 1e-5);
}

TEST(MeasuredCommunication, CorrectsTheLawAtMeasuredSizes) {
  // 2 ranks, 4096 B: 5 + 2 + 4096 B / 10 GB/s = 7.4096 us; the forest adds 10 %.
  const auto price = database(0.0953102F).price(reduce_of(2, 4096), "h100-sxm");
  EXPECT_NEAR(price.time.value(), 7.4096e-6 * 1.1, 1e-11);
  EXPECT_EQ(price.origin, Origin::measured);
  EXPECT_EQ(price.bound_by, Bound::network);
  EXPECT_DOUBLE_EQ(price.expected_error, 0.05);
}

// Half way between 4 KiB and 1 MiB (in octaves) half of the correction counts: 64 KiB, 2 ranks:
// 5 + 2 + 6.5536 us, times sqrt(1.21) = 1.1.
TEST(MeasuredCommunication, InterpolatesTheCorrectionBetweenSizes) {
  const auto price = database(0.1906204F).price(reduce_of(2, 65536), "h100-sxm");
  EXPECT_NEAR(price.time.value(), 13.5536e-6 * 1.1, 1e-10);
}

TEST(MeasuredCommunication, StaysBetweenTheTimesOfMeasuredSizes) {
  const MeasuredCommunication prices = database(3.0F);  // small messages cost 20 times the law
  const double low = prices.price(reduce_of(2, 4096), "h100-sxm").time.value();
  const double high = prices.price(reduce_of(2, 1 << 20), "h100-sxm").time.value();
  EXPECT_GT(low, high);
  for (double bytes = 4096; bytes < (1 << 20); bytes *= 1.3) {
    const double time = prices.price(reduce_of(2, bytes), "h100-sxm").time.value();
    EXPECT_LE(time, low);
    EXPECT_GE(time, high);
  }
}

TEST(MeasuredCommunication, ContinuesBeyondTheMeasuredSizes) {
  const MeasuredCommunication prices = database(0.2F);
  const auto us = [&](double bytes) {
    return prices.price(reduce_of(2, bytes), "h100-sxm").time.value() * 1e6;
  };
  EXPECT_DOUBLE_EQ(us(16), us(1024));
  EXPECT_NEAR(us(4 << 20), 20 + 2 + (4 << 20) / 100e3, 1e-6);  // as the law; no correction there
}

std::string refusal(const CommPoint& point, std::string_view gpu) {
  try {
    (void)database().price(point, gpu);
  } catch (const PredictionError& error) {
    return error.what();
  }
  return "";
}

TEST(MeasuredCommunication, RefusesWhatWasNotMeasured) {
  EXPECT_THAT(refusal(reduce_of(16, 4096), "h100-sxm"),
              HasSubstr("all_reduce of 16 by nccl (graph) was not measured on h100-sxm"));
  CommPoint point = reduce_of(2, 4096);
  point.library = CommLibrary::vllm;
  EXPECT_THAT(refusal(point, "h100-sxm"), HasSubstr("by vllm (graph) was not measured"));
  point = reduce_of(2, 4096);
  point.link_rate = BytesPerSecond(900e9);
  EXPECT_THAT(refusal(point, "b200-sxm"), HasSubstr("only between those of h100-sxm"));
}

// Over two nodes with 46 GB/s each: 4 ranks are 2 log2(4) = 4 steps of a tree. A network of another
// rate is another network.
TEST(MeasuredCommunication, KnowsANetworkByItsRate) {
  MeasuredFabric fabric{"a100-sxm", 80, BytesPerSecond(270e9), {}};
  fabric.curves.push_back({CollectiveOp::all_reduce,
                           CommLibrary::nccl,
                           CommLaunch::torch,
                           ExpertMode::normal,
                           2,
                           BytesPerSecond(46e9),
                           {2, 16},
                           {1024, 1 << 30},
                           {{short_line, short_line}}});
  const MeasuredCommunication prices{{fabric}, forest_of(0), 0.05};
  CommPoint point = reduce_of(4, 1e6);
  point.launch = CommLaunch::torch;
  point.link_rate = BytesPerSecond(270e9);
  point.compute_capability = 80;
  point.nodes = 2;
  point.network_rate = BytesPerSecond(46.2e9);
  EXPECT_NEAR(prices.price(point, "a100-sxm").time.value(), 5e-6 + 4e-6 + 1.5e6 / 10e9, 1e-9);
  point.network_rate = BytesPerSecond(184e9);
  try {
    (void)prices.price(point, "a100-sxm");
    FAIL() << "no error";
  } catch (const PredictionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("over 2 nodes with 184 GB/s of network each was not"));
  }
}

TEST(MeasuredCommunication, LendsASiblingsTimesAsTransferred) {
  EXPECT_EQ(database().price(reduce_of(4, 4096), "h200-sxm").origin, Origin::transferred);
}

TEST(MeasuredCommunication, ReadsBackAsWritten) {
  const MeasuredCommunication prices = database(0.125F);
  const Value value = parse_json(to_json(prices.to_value()), {});
  const MeasuredCommunication read = MeasuredCommunication::from_value(value);
  ASSERT_EQ(read.fabrics().size(), 1u);
  EXPECT_EQ(read.fabrics()[0].curves, prices.fabrics()[0].curves);
  for (const double bytes : {512.0, 3000.0, 70'000.0, 1e8}) {
    EXPECT_EQ(read.price(reduce_of(2, bytes), "h100-sxm").time,
              prices.price(reduce_of(2, bytes), "h100-sxm").time);
  }
}

TEST(MeasuredCommunication, BuiltInOneKnowsItsFabrics) {
  const MeasuredCommunication& built_in = MeasuredCommunication::built_in();
  for (const char* gpu : {"a100-sxm", "b200-sxm", "h100-sxm", "h200-sxm", "l40s"})
    EXPECT_NE(built_in.find(gpu), nullptr) << gpu;
}

Prediction price_on(const std::string& cluster_name, const Collective& collective,
                    CommFallback fallback, const std::string& all_reduce = "auto") {
  const ClusterSpec cluster = load_cluster(cluster_name, {});
  std::vector<GpuId> group;
  for (int gpu = 0; gpu < collective.ranks; ++gpu) group.push_back({std::uint32_t(gpu)});
  const CommSettings settings{cluster.comm, all_reduce,
                              measured_prices(cluster, Framework::vllm, fallback)};
  return price_communication(collective, group_links(cluster, group), settings);
}

Collective reduce_on(int ranks) {
  return {CollectiveOp::all_reduce, CommGroup::tensor_parallel, ranks, 1e6};
}

// Two nodes of eight: the last argument picks the GPUs.
std::vector<GpuId> group_of(std::initializer_list<std::uint32_t> gpus) {
  std::vector<GpuId> group;
  for (const std::uint32_t gpu : gpus) group.push_back({gpu});
  return group;
}

TEST(CommunicationPrice, KnowsTheTwoNodesThatWereMeasured) {
  EXPECT_EQ(price_on("a100-sxm-8x2-ethernet", reduce_on(16), CommFallback::none).origin,
            Origin::measured);
  EXPECT_THROW(price_on("a100-sxm-8x2", reduce_on(16), CommFallback::none), PredictionError);
  EXPECT_THROW(price_on("a100-sxm-8x2-ethernet", reduce_on(11), CommFallback::none),
               PredictionError);  // eight and three
  const Collective dispatch{CollectiveOp::expert_dispatch,
                            CommGroup::expert_parallel,
                            16,
                            1e6,
                            {256, 8, ExpertMode::low_latency}};
  EXPECT_EQ(price_on("h100-sxm-8x2", dispatch, CommFallback::none).origin, Origin::measured);
  EXPECT_EQ(price_on("h200-sxm-8x2", dispatch, CommFallback::none).origin, Origin::transferred);
}

// What the platform gets takes as long, alone on its links, as the database says.
TEST(CommunicationPrice, StretchesACallToItsPrice) {
  const ClusterSpec cluster = load_cluster("a100-sxm-8x2-ethernet", {});
  CommSettings settings{cluster.comm};
  const Collective send{CollectiveOp::send_recv, CommGroup::next_stage, 2, 4e6};
  for (const auto& group : {group_of({0, 1}), group_of({0, 8})}) {
    const GroupLinks links = group_links(cluster, group);
    settings.measured.reset();
    EXPECT_EQ(priced_call(send, links, settings).call.stretch, 1);
    settings.measured = measured_prices(cluster, Framework::vllm, CommFallback::none);
    const PricedCall priced = priced_call(send, links, settings);
    EXPECT_EQ(priced.origin, Origin::measured);
    EXPECT_NE(priced.call.stretch, 1);
    EXPECT_NEAR(collective_time(priced.call, links, settings.parameters) /
                    price_communication(send, links, settings).time,
                1, 1e-12);
  }
}

TEST(CommunicationPrice, AddsTheWaitOfAStepToWhatTablesKnow) {
  const ClusterSpec cluster = load_cluster("a100-sxm-8x2-ethernet", {});
  CommSettings settings{cluster.comm, "nccl"};
  settings.measured = measured_prices(cluster, Framework::vllm, CommFallback::none);
  const GroupLinks links = group_links(cluster, group_of({0, 1, 2, 3, 4, 5, 6, 7}));
  const Seconds alone = price_communication(reduce_on(8), links, settings).time;
  settings.in_steps = true;
  const Seconds inside = price_communication(reduce_on(8), links, settings).time;
  EXPECT_NEAR((inside - alone).value(), nccl_step_wait.value(), 1e-12);
  const PricedCall priced = priced_call(reduce_on(8), links, settings);
  EXPECT_NEAR(collective_time(priced.call, links, settings.parameters) / inside, 1, 1e-12);
}

TEST(CommunicationPrice, FallsBackOnlyWhereTold) {
  EXPECT_EQ(price_on("h100-sxm-8", reduce_on(8), CommFallback::none).origin, Origin::measured);
  EXPECT_EQ(price_on("h200-sxm-8", reduce_on(8), CommFallback::none).origin, Origin::transferred);
  EXPECT_EQ(price_on("l40s-8", reduce_on(8), CommFallback::model).origin, Origin::analytic);
  EXPECT_THROW(price_on("l40s-8", reduce_on(8), CommFallback::none), PredictionError);
  EXPECT_THROW(price_on("h100-sxm-8x2", reduce_on(16), CommFallback::none), PredictionError);
  EXPECT_THROW(price_on("h100-sxm-8", reduce_on(8), CommFallback::none, "ring"), PredictionError);
  EXPECT_EQ(price_on("h100-sxm-8", reduce_on(1), CommFallback::none).time, Seconds(0));
}

}  // namespace
}  // namespace foretoken::measured_communication_test
