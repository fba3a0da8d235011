// Collectives as flows against the closed forms, and what they do to each other on shared links.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/communication/collective_cost.hpp"
#include "platform_fixture.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace foretoken::testing::collective_test {
namespace {

CollectiveCall call(CollectiveOp op, double size, std::string_view algorithm = "auto") {
  return {.op = op, .size = Bytes(size), .algorithm = algorithm};
}

/// Bulk, then stepwise, one after the other on an idle cluster: durations of both.
std::pair<double, double> measured_all_reduce(int ranks, double size) {
  Platform platform(nvswitch_cluster(8));
  const std::vector<GpuId> group = first_gpus(ranks);
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 1)
      platform.collective_stepwise(call(CollectiveOp::all_reduce, size), group, recorder, 2);
  };
  platform.collective(call(CollectiveOp::all_reduce, size), group, 1, recorder, 1);
  platform.run();
  const int steps = 2 * (ranks - 1);
  EXPECT_EQ(platform.counters().flows, static_cast<std::uint64_t>(ranks * (1 + steps)));
  return {recorder.date_of(1), recorder.date_of(2) - recorder.date_of(1)};
}

// 2(n-1)(a + S/(nB)) with S = 64 MB, a = 2 us, B = 80 GB/s: S/B = 800 us.
//   n = 2:  2 (2 + 400) =  804 us     n = 4:  6 (2 + 200) = 1212 us    n = 8: 14 (2 + 100) = 1428
//   us
TEST(Collective, AllReduceOfTwoTakesTheRingFormula) {
  const auto [bulk, stepwise] = measured_all_reduce(2, 64e6);
  EXPECT_NEAR(bulk, 804 * micro, 1e-12);
  EXPECT_NEAR(stepwise, 804 * micro, 1e-12);
}

TEST(Collective, AllReduceOfFourTakesTheRingFormula) {
  const auto [bulk, stepwise] = measured_all_reduce(4, 64e6);
  EXPECT_NEAR(bulk, 1212 * micro, 1e-12);
  EXPECT_NEAR(stepwise, 1212 * micro, 1e-12);
}

TEST(Collective, AllReduceOfEightTakesTheRingFormula) {
  const auto [bulk, stepwise] = measured_all_reduce(8, 64e6);
  EXPECT_NEAR(bulk, 1428 * micro, 1e-12);
  EXPECT_NEAR(stepwise, 1428 * micro, 1e-12);
}

struct Case {
  CollectiveCall call;
  std::vector<GpuId> group;
  int repeats;  // 0: stepwise
};

/// Each case alone, one after the other, against collective_time().
void expect_agreement(const ClusterSpec& cluster, const std::vector<Case>& cases,
                      Leasing leasing = Leasing::off) {
  Platform platform(cluster, leasing);
  Recorder recorder(platform);
  const auto start = [&](std::uint64_t number) {
    const Case& c = cases[number];
    if (c.repeats == 0) return platform.collective_stepwise(c.call, c.group, recorder, number);
    platform.collective(c.call, c.group, c.repeats, recorder, number);
  };
  recorder.then = [&](std::uint64_t number) {
    if (number + 1 < cases.size()) start(number + 1);
  };
  start(0);
  platform.run();

  ASSERT_EQ(recorder.calls.size(), cases.size());
  double begin = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const GroupLinks links = group_links(cluster, c.group);
    const CollectiveCost once = collective_cost(c.call, links, cluster.comm);
    const double expected = once.time().value() * std::max(1, c.repeats);
    const double rounding = 1e-14 + recorder.calls[i].date * 1e-15;
    EXPECT_NEAR(recorder.calls[i].date - begin, expected, expected * 1e-9 + rounding)
        << enum_name(c.call.op) << " by " << once.algorithm << " of " << c.group.size()
        << " from GPU " << c.group.front().value << ", " << c.call.size.value() << " B, "
        << c.repeats << " repeats";
    begin = recorder.calls[i].date;
  }
}

/// Every operation, bulk and stepwise, over each group.
void expect_agreement(const ClusterSpec& cluster, const std::vector<std::vector<GpuId>>& groups) {
  std::vector<Case> cases;
  for (const std::vector<GpuId>& group : groups)
    for (const double size : {0.0, 1000.0, 123'456'789.0})
      for (const int repeats : {0, 1, 7}) {
        for (const CollectiveOp op :
             {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
              CollectiveOp::all_to_all, CollectiveOp::broadcast})
          cases.push_back({call(op, size), group, repeats});
        if (group.size() == 2)
          cases.push_back({call(CollectiveOp::send_recv, size), group, repeats});
      }
  expect_agreement(cluster, cases);
}

TEST(CollectiveAgreement, InsideAnNvswitchNode) {
  expect_agreement(nvswitch_cluster(8),
                   {gpus({3}), gpus({0, 1}), gpus({5, 2, 7}), gpus({0, 2, 4, 6}), first_gpus(8)});
}

TEST(CollectiveAgreement, BehindAHostBridge) {
  expect_agreement(pcie_cluster(8, 300), {gpus({0, 1}), gpus({1, 2, 5}), first_gpus(8)});
}

TEST(CollectiveAgreement, AcrossNodesWithANicAGpu) {
  expect_agreement(nvswitch_cluster(4, 3), {gpus({0, 4}), gpus({6, 1}), gpus({0, 4, 8}),
                                            gpus({1, 2, 5, 6}), first_gpus(8), first_gpus(12)});
}

TEST(CollectiveAgreement, AcrossNodesWithFewNics) {
  expect_agreement(nvswitch_cluster(8, 2, 2),
                   {gpus({0, 8}), gpus({0, 1, 8, 9}), gpus({0, 1, 2, 8, 9, 10}), first_gpus(16)});
}

TEST(CollectiveAgreement, AcrossNodesWithMoreNicsThanGpus) {
  expect_agreement(nvswitch_cluster(2, 3, 4), {gpus({1, 2}), gpus({0, 1, 2, 3}), first_gpus(6)});
}

TEST(CollectiveAgreement, AcrossNodesUnevenly) {
  expect_agreement(nvswitch_cluster(8, 2), {first_gpus(9), gpus({0, 1, 2, 3, 4, 8, 9})});
}

TEST(CollectiveAgreement, AcrossPcieNodes) {
  expect_agreement(pcie_cluster(4, 50, 2, 4), {gpus({0, 4}), gpus({0, 1, 4, 5}), first_gpus(8)});
}

TEST(CollectiveAgreement, AcrossOversubscribedLeaves) {
  ClusterSpec cluster = nvswitch_cluster(2, 4);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 8;
  expect_agreement(cluster, {gpus({0, 2}), gpus({0, 4}), first_gpus(4), first_gpus(8)});
}

TEST(CollectiveAgreement, OnRails) {
  ClusterSpec cluster = nvswitch_cluster(8, 2);
  cluster.fabric.kind = FabricKind::rail_optimized;
  expect_agreement(cluster, {gpus({0, 9}), first_gpus(16)});
}

/// Random groups, sizes, operations and algorithms, with protocols as measured.
void expect_agreement_at_random(std::string_view cluster_name, std::uint64_t seed) {
  const ClusterSpec cluster = load_cluster(std::string(cluster_name), {});
  RandomStream random = RandomStreams(seed).stream("collectives");
  const auto below = [&random](std::size_t bound) {
    return static_cast<std::size_t>(uniform(random) * static_cast<double>(bound));
  };
  const std::vector<std::string_view> algorithms = all_reduce_names();
  std::vector<Case> cases;
  while (cases.size() < 120) {
    std::vector<GpuId> all = first_gpus(cluster.gpu_count());
    for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[below(i + 1)]);
    Case c{{}, {all.begin(), all.begin() + 2 + static_cast<int>(below(all.size() - 1))}, 0};
    c.call.op = static_cast<CollectiveOp>(below(EnumNames<CollectiveOp>::names.size()));
    if (c.call.op == CollectiveOp::send_recv) c.group.resize(2);
    c.call.size = Bytes(std::pow(10.0, 9 * uniform(random)));
    c.call.algorithm = algorithms[below(algorithms.size())];
    c.call.experts = {256, 8, static_cast<ExpertMode>(below(2))};
    c.repeats = static_cast<int>(below(3));
    cases.push_back(std::move(c));
  }
  expect_agreement(cluster, cases);
}

TEST(CollectiveAgreement, AtRandomOnOneNode) { expect_agreement_at_random("h100-sxm-8", 1); }
TEST(CollectiveAgreement, AtRandomOnFourNodes) { expect_agreement_at_random("h200-sxm-8x4", 2); }
TEST(CollectiveAgreement, AtRandomOnAmpere) { expect_agreement_at_random("a100-sxm-4x3", 3); }
TEST(CollectiveAgreement, AtRandomOverPcie) { expect_agreement_at_random("l40s-8x2", 4); }
TEST(CollectiveAgreement, AtRandomOnAFatTree) {
  expect_agreement_at_random("h100-sxm-8x16-fat-tree", 5);
}

TEST(CollectiveAgreement, ByEveryAlgorithmOverWholeNodes) {
  const ClusterSpec cluster = load_cluster("h100-sxm-8x4", {});
  std::vector<Case> cases;
  for (const std::string_view name : all_reduce_names())
    for (const int ranks : {8, 16, 32})
      for (const int repeats : {0, 3})
        cases.push_back({call(CollectiveOp::all_reduce, 1e7, name), first_gpus(ranks), repeats});
  expect_agreement(cluster, cases);
}

TEST(CollectiveAgreement, OfLeasesAcrossNodes) {
  const ClusterSpec cluster = load_cluster("h100-sxm-8x4", {});
  std::vector<Case> cases;
  for (const int ranks : {16, 32})
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all})
      cases.push_back({call(op, 3e7), first_gpus(ranks), 5});
  expect_agreement(cluster, cases, Leasing::on);
}

// Two all-reduces on GPUs {0,1}, S = 80 MB each: alone 2 (2 + 500) us; together every port
// direction carries both, so the bytes take twice as long: 2 * 2 us + 2 * 1000 us.
TEST(Collective, TwoOnOneGroupShareItsPorts) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  const std::vector<GpuId> group = gpus({0, 1});
  const CollectiveCall reduce = call(CollectiveOp::all_reduce, 80e6);
  platform.collective(reduce, group, 1, recorder, 1);
  platform.collective(reduce, group, 1, recorder, 2);
  platform.collective(reduce, gpus({2, 3}), 1, recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2004 * micro, 1e-11);
  EXPECT_NEAR(recorder.date_of(2), 2004 * micro, 1e-11);
  EXPECT_NEAR(recorder.date_of(3), 1004 * micro, 1e-11);
}

// A ring over two nodes of two GPUs moves at the 40 GB/s of a node's two NICs, also inside the
// nodes, and so leaves half of port 0 to a send from 0 to 1: neither slows the other.
// all_gather of 4 ranks, S = 4 GB: of three hops two cross, 2 * 5 us + 2 us; 3 GB / 40 GB/s = 75
// ms.
TEST(Collective, TakesNoMoreOfAFastLinkThanItsSlowestHopLetsIt) {
  Platform platform(nvswitch_cluster(2, 2));
  Recorder recorder(platform);
  platform.collective(call(CollectiveOp::all_gather, 4 * giga), first_gpus(4), 1, recorder, 1);
  platform.send({0}, {1}, Bytes(3 * giga), recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 12 * micro + 0.075, 1e-11);
  // From 2 us to 12 us alone at 80 GB/s, then at the 40 GB/s that the ring leaves: the rest of 3 GB
  // takes less than the ring's 75 ms.
  EXPECT_NEAR(recorder.date_of(2), 12 * micro + (3 - 80 * 10 * micro) / 40, 1e-11);
}

TEST(Collective, OfOneRankOrNoRepeatsTakesNoTime) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  platform.collective(call(CollectiveOp::all_reduce, 1e9), gpus({2}), 5, recorder, 1);
  platform.collective(call(CollectiveOp::all_reduce, 1e9), first_gpus(4), 0, recorder, 2);
  platform.run();
  EXPECT_EQ(recorder.date_of(1), 0);
  EXPECT_EQ(recorder.date_of(2), 0);
}

TEST(Collective, MalformedGroupsAreBugs) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  const auto start = [&](CollectiveOp op, const std::vector<GpuId>& group) {
    platform.collective(call(op, 1), group, 1, recorder, 1);
  };
  EXPECT_THROW(start(CollectiveOp::all_reduce, {}), InternalError);
  EXPECT_THROW(start(CollectiveOp::all_reduce, gpus({1, 1})), InternalError);
  EXPECT_THROW(start(CollectiveOp::all_reduce, gpus({1, 4})), InternalError);
  EXPECT_THROW(start(CollectiveOp::send_recv, gpus({0, 1, 2})), InternalError);
}

}  // namespace
}  // namespace foretoken::testing::collective_test
