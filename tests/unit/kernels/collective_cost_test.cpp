// What collectives cost, algorithm by algorithm, each with its derivation, and which is chosen.
#include "kernels/communication/collective_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hardware/cluster.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr double us = 1e-6, giga = 1e9;

/// 8 ranks on one NVSwitch: 100 GB/s, 1 us.
GroupLinks one_node(int ranks = 8) {
  GroupLinks links;
  links.ranks = links.ranks_per_node_max = links.ranks_per_node_min = ranks;
  links.inside_latency = Seconds(1 * us);
  links.inside_bandwidth = BytesPerSecond(100 * giga);
  links.is_fully_connected = true;
  return links;
}

/// 4 nodes of 2 such ranks: 20 GB/s leave a node, 4 us.
GroupLinks four_nodes() {
  GroupLinks links = one_node(2);
  links.ranks = 8;
  links.nodes = 4;
  links.across_latency = Seconds(4 * us);
  links.node_bandwidth = BytesPerSecond(20 * giga);
  links.is_fully_connected = false;
  return links;
}

/// Every protocol with launch 10 us, 1 us a step and the full rate, or only those named.
CommParameters parameters(std::initializer_list<Protocol> offered) {
  CommParameters made;
  for (const Protocol protocol : offered) {
    made.inside.of(protocol) = {Seconds(10 * us), Seconds(1 * us), 1.0};
    made.across.of(protocol) = {Seconds(10 * us), Seconds(1 * us), 1.0};
  }
  return made;
}

double microseconds(CollectiveOp op, double size, const GroupLinks& links,
                    const CommParameters& parameters, std::string_view algorithm = "nccl") {
  const CollectiveCall call{.op = op, .size = Bytes(size), .algorithm = algorithm};
  return collective_time(call, links, parameters).value() / us;
}

// A ring step takes 1 + 1 us, a chunk of 1 MB 10 us: launch 10, then 14 or 7 steps.
TEST(CollectiveCost, RingsGoRoundOnceOrTwice) {
  const CommParameters simple = parameters({Protocol::simple});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, one_node(), simple), 10 + 14 * 12, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::all_gather, 8e6, one_node(), simple), 10 + 7 * 12, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::reduce_scatter, 8e6, one_node(), simple), 10 + 7 * 12,
              1e-9);
  // A broadcast's 8 MB pass every hop: 80 us.
  EXPECT_NEAR(microseconds(CollectiveOp::broadcast, 8e6, one_node(), simple), 10 + 7 * 2 + 80,
              1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 0, one_node(), simple), 10 + 14 * 2, 1e-9);
}

// At a share of 0.5 and an own part of 1, eight parts at 50 GB/s instead of seven at 100: 14 x 10
// us become 16 x 20.
TEST(CollectiveCost, ARanksOwnPartGoesThroughItsSmsToo) {
  CommParameters simple = parameters({Protocol::simple});
  simple.inside.of(Protocol::simple).share = 0.5;
  simple.inside.own_part.all_reduce = 1;
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, one_node(), simple),
              10 + 14 * 2 + 16 * 20, 1e-9);
}

// ll: 5 us and a tenth of the rate; simple: 10 us and all of it. 14 steps of 2 us are common, then
// 14 chunks: 10 S/8/100 GB/s against S/8/100 GB/s. Equal where 14 x 9 x S/8 / 100 GB/s = 5 us:
// S = 31.7 kB.
TEST(CollectiveCost, TheFastestProtocolIsTaken) {
  CommParameters two = parameters({Protocol::ll, Protocol::simple});
  two.inside.of(Protocol::ll).launch = Seconds(5 * us);
  two.inside.of(Protocol::ll).share = 0.1;
  const auto protocol = [&](double size) {
    const CollectiveCall call{.size = Bytes(size), .algorithm = "ring"};
    return collective_cost(call, one_node(), two).protocol;
  };
  EXPECT_EQ(protocol(31e3), Protocol::ll);
  EXPECT_EQ(protocol(33e3), Protocol::simple);
}

// 4 nodes of 2: of 14 steps, 14 x 4 / 8 = 7 cross (5 us) and 7 stay (2 us); 14 chunks of 1 MB at
// the 20 GB/s of a node's NICs: 50 us each.
TEST(CollectiveCost, ARingOverNodesIsAsFastAsTheirNics) {
  const CommParameters simple = parameters({Protocol::simple});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, four_nodes(), simple, "ring"),
              10 + 7 * 5 + 7 * 2 + 14 * 50, 1e-9);
}

// Up and down: one hop inside (2 us) and log2(4) = 2 between nodes (5 us), twice; 2 S 7/8 = 14 MB
// at 0.92 x 20 GB/s. At 64 nodes a tree of small messages beats the ring.
TEST(CollectiveCost, ATreeTakesFewerSteps) {
  const CommParameters simple = parameters({Protocol::simple});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, four_nodes(), simple, "tree"),
              10 + 2 * (2 + 2 * 5) + 14e6 / (0.92 * 20e9) / us, 1e-9);
  GroupLinks many = four_nodes();
  many.nodes = 64;
  many.ranks = 128;
  EXPECT_EQ(collective_cost({.size = Bytes(1000)}, many, simple).algorithm, "tree");
  EXPECT_EQ(collective_cost({.size = Bytes(1e9)}, many, simple).algorithm, "ring");
}

// Two nodes are each the root of one tree and the leaf of the other: 8 MB leave a node once, at
// 0.92 of 20 GB/s, in two hops each way.
TEST(CollectiveCost, OfTwoNodesEachSendsTheBufferOnce) {
  const CommParameters simple = parameters({Protocol::simple});
  GroupLinks two = four_nodes();
  two.nodes = 2;
  two.ranks = 4;
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, two, simple, "tree"),
              10 + 2 * (2 + 5) + 8e6 / (0.92 * 20e9) / us, 1e-9);
  // Chains inside move it up and down: at 30 GB/s they take longer.
  two.inside_bandwidth = BytesPerSecond(30 * giga);
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, two, simple, "tree"),
              10 + 2 * (2 + 5) + 8e6 / (0.92 * 15e9) / us, 1e-9);
}

// Inside (2 ranks): scatter and gather of S = 8 MB, one step of 2 us and 4 MB / 100 GB/s = 40 us
// each. Between 4 nodes: 4 MB a rail, 6 steps of 5 us and 6 MB / 10 GB/s = 600 us. Two launches.
TEST(CollectiveCost, HierarchicalHasThreePhases) {
  const CommParameters simple = parameters({Protocol::simple});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, four_nodes(), simple, "hierarchical"),
              2 * 10 + 2 * (2 + 40) + 6 * 5 + 600, 1e-9);
}

// A port carries S (1 + 1/8) = 9 MB: 90 us; two steps.
TEST(CollectiveCost, TheSwitchAddsWhereItCan) {
  const CommParameters both = parameters({Protocol::simple, Protocol::nvls});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 8e6, one_node(), both), 10 + 2 * 2 + 90, 1e-9);
  CollectiveCall integers{.size = Bytes(8e6), .algorithm = "nccl", .reduces_in_switch = false};
  EXPECT_EQ(collective_cost(integers, one_node(), both).algorithm, "ring");
  EXPECT_FALSE(may_all_reduce("nvls", one_node(), parameters({Protocol::simple})));
  EXPECT_FALSE(may_all_reduce("nvls", four_nodes(), both));
}

// One shot: one step of 2 us, 7 x 80 kB / 100 GB/s. Two shots: two steps, 14/8 x 800 kB.
TEST(CollectiveCost, FrameworksReadEachOthersBuffers) {
  const CommParameters all = parameters({Protocol::simple, Protocol::one_shot, Protocol::two_shot});
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 80e3, one_node(), all, "one_shot"),
              10 + 2 + 5.6, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::all_reduce, 800e3, one_node(), all, "two_shot"),
              10 + 4 + 14, 1e-9);
}

TEST(CollectiveCost, AutoFollowsTheFrameworksLimits) {
  const CommParameters all = parameters({Protocol::simple, Protocol::one_shot, Protocol::two_shot});
  const auto chosen = [&](int ranks, double kib) {
    return collective_cost({.size = Bytes(kib * 1024)}, one_node(ranks), all).algorithm;
  };
  EXPECT_EQ(chosen(8, 255), "one_shot");
  EXPECT_EQ(chosen(8, 256), "two_shot");
  EXPECT_EQ(chosen(4, 511), "one_shot");
  EXPECT_EQ(chosen(4, 512), "two_shot");
  EXPECT_EQ(chosen(2, 8191), "one_shot");
  EXPECT_EQ(chosen(2, 8192), "ring");
  EXPECT_EQ(chosen(3, 4), "ring");   // an odd count
  EXPECT_EQ(chosen(16, 4), "ring");  // more than eight
  EXPECT_EQ(collective_cost({.size = Bytes(1000)}, four_nodes(), all).algorithm, "tree");
}

// All peers at once: one step; of 8 parts seven cross: 7 MB / 100 GB/s.
TEST(CollectiveCost, AnExchangeServesAllPeersAtOnce) {
  const CommParameters direct = parameters({Protocol::direct});
  EXPECT_NEAR(microseconds(CollectiveOp::all_to_all, 8e6, one_node(), direct), 10 + 2 + 70, 1e-9);
  // Over four nodes three rounds of 5 us; each of a node's 2 ranks sends 6 of 8 MB out: 12 MB at
  // 20 GB/s.
  EXPECT_NEAR(microseconds(CollectiveOp::all_to_all, 8e6, four_nodes(), direct), 10 + 15 + 600,
              1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::send_recv, 8e6, one_node(2), direct), 10 + 2 + 80, 1e-9);
  EXPECT_EQ(collective_cost({.op = CollectiveOp::send_recv, .size = Bytes(1)}, one_node(2), direct)
                .algorithm,
            "direct");
}

// A send and a broadcast cost what their own protocols say: here 20 us to begin and half the rate.
// Where a fabric has none, an exchange's and a ring's stand for them.
TEST(CollectiveCost, SendsAndBroadcastsHaveProtocolsOfTheirOwn) {
  CommParameters own = parameters({Protocol::direct, Protocol::simple});
  EXPECT_NEAR(microseconds(CollectiveOp::send_recv, 8e6, one_node(2), own), 10 + 2 + 80, 1e-9);
  for (const Protocol protocol : {Protocol::send, Protocol::broadcast})
    own.inside.of(protocol) = {Seconds(20 * us), Seconds(1 * us), 0.5};
  EXPECT_NEAR(microseconds(CollectiveOp::send_recv, 8e6, one_node(2), own), 20 + 2 + 160, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::broadcast, 8e6, one_node(), own), 20 + 7 * 2 + 160, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::all_to_all, 8e6, one_node(), own), 10 + 2 + 70, 1e-9);
  EXPECT_NEAR(microseconds(CollectiveOp::all_gather, 8e6, one_node(), own), 10 + 7 * 12, 1e-9);
}

// LL here begins at once and carries a tenth. 8 MB by LL: 14 steps of 2 us, 14 MB at 10 GB/s. An
// exchange knows no LL128 and takes what is cheapest; reduction in the switch copies plainly.
TEST(CollectiveCost, TakesTheProtocolThatIsNamed) {
  CommParameters all = parameters({Protocol::ll, Protocol::simple, Protocol::direct});
  all.inside.of(Protocol::ll) = {Seconds(0), Seconds(1 * us), 0.1};
  all.inside.of(Protocol::nvls) = {Seconds(0), Seconds(0), 1.0};
  const auto time = [&](CollectiveOp op, NcclProtocol protocol) {
    const CollectiveCall call{
        .op = op, .size = Bytes(8e6), .algorithm = "nccl", .protocol = protocol};
    return collective_time(call, one_node(), all).value() / us;
  };
  EXPECT_NEAR(time(CollectiveOp::all_reduce, NcclProtocol::ll), 14 * 2 + 1400, 1e-9);
  EXPECT_NEAR(time(CollectiveOp::all_gather, NcclProtocol::simple), 10 + 7 * 12, 1e-9);
  EXPECT_NEAR(time(CollectiveOp::all_to_all, NcclProtocol::ll128), 10 + 2 + 70, 1e-9);
  EXPECT_NEAR(time(CollectiveOp::all_reduce, NcclProtocol::automatic), 2 + 90, 1e-9);
}

// Latency and transfer alike.
TEST(CollectiveCost, StretchesByWhatWasMeasured) {
  const CommParameters direct = parameters({Protocol::direct});
  const CollectiveCall call{.op = CollectiveOp::send_recv, .size = Bytes(8e6), .stretch = 1.5};
  EXPECT_NEAR(collective_time(call, one_node(2), direct).value() / us, 1.5 * (10 + 2 + 80), 1e-9);
}

/// 8 MB of tokens, 8 experts each.
CollectiveCall expert_call(ExpertMode mode, int topk = 8) {
  return {.op = CollectiveOp::expert_dispatch, .size = Bytes(8e6), .experts = {256, topk, mode}};
}

// Low latency, 4 nodes of 2: 8 copies of each token, 2/8 of them inside: 16 MB / 100 GB/s = 160 us;
// 6/8 out, 48 MB a rank, two ranks a node, 20 GB/s: 4800 us decide.
TEST(CollectiveCost, LowLatencyExchangeSendsACopyAnExpert) {
  const CommParameters all =
      parameters({Protocol::low_latency_dispatch, Protocol::low_latency_combine, Protocol::dispatch,
                  Protocol::combine});
  EXPECT_NEAR(collective_time(expert_call(ExpertMode::low_latency), four_nodes(), all).value() / us,
              10 + 5 + 4800, 1e-6);
  EXPECT_NEAR(collective_time(expert_call(ExpertMode::low_latency), one_node(), all).value() / us,
              10 + 2 + 8 * 80, 1e-6);
  EXPECT_EQ(collective_cost(expert_call(ExpertMode::low_latency), one_node(), all).algorithm,
            "expert_exchange");
}

// Normal, one expert a token: it leaves for one of 4 nodes, another one 3 times in 4: 6 MB a rank,
// 12 MB a node, 600 us; three exchanges of counts (5 us) and a hop inside (2 us).
// Eight experts of 256, 64 on each node: a node is missed with probability
// prod (192 - i) / (256 - i), so that a token crosses to 3 (1 - that) others.
TEST(CollectiveCost, NormalExchangeSendsACopyANode) {
  const CommParameters all =
      parameters({Protocol::low_latency_dispatch, Protocol::low_latency_combine, Protocol::dispatch,
                  Protocol::combine});
  EXPECT_NEAR(collective_time(expert_call(ExpertMode::normal, 1), four_nodes(), all).value() / us,
              10 + 15 + 2 + 600, 1e-6);
  double missed = 1;
  for (int i = 0; i < 8; ++i) missed *= (192.0 - i) / (256.0 - i);
  EXPECT_NEAR(collective_time(expert_call(ExpertMode::normal), four_nodes(), all).value() / us,
              10 + 15 + 2 + 2 * 8e6 * 3 * (1 - missed) / 20e9 / us, 1e-6);
}

// Limited to one of eight groups, of which each node holds two: a token goes to one of the four
// nodes. Straight to the experts there are as many copies as without.
TEST(CollectiveCost, NormalExchangeFollowsTheGroupsOfARouter) {
  const CommParameters all =
      parameters({Protocol::low_latency_dispatch, Protocol::low_latency_combine, Protocol::dispatch,
                  Protocol::combine});
  CollectiveCall limited = expert_call(ExpertMode::normal);
  limited.experts.groups = {8, 1};
  EXPECT_NEAR(collective_time(limited, four_nodes(), all).value() / us,
              10 + 15 + 2 + 2 * 8e6 * 3 * 0.25 / 20e9 / us, 1e-6);
  limited.experts.mode = ExpertMode::low_latency;
  EXPECT_EQ(collective_time(limited, four_nodes(), all),
            collective_time(expert_call(ExpertMode::low_latency), four_nodes(), all));
}

TEST(CollectiveCost, OutsideACudaGraphTheHostIsTheFloor) {
  CommParameters simple = parameters({Protocol::simple});
  simple.inside.host_floor = Seconds(50 * us);
  CollectiveCall call{.size = Bytes(0), .in_graph = false};
  EXPECT_NEAR(collective_time(call, one_node(), simple).value() / us, 50, 1e-9);
  call.size = Bytes(80e6);
  EXPECT_NEAR(collective_time(call, one_node(), simple).value() / us, 10 + 14 * 102, 1e-9);
}

TEST(CollectiveCost, NcclTakesTwoMicrosecondsMoreInsideAStep) {
  const CommParameters all = parameters({Protocol::simple, Protocol::one_shot, Protocol::direct});
  const auto longer_us = [&](CollectiveCall call, const GroupLinks& links) {
    const Seconds alone = collective_time(call, links, all);
    call.in_step = true;
    return (collective_time(call, links, all) - alone).value() / us;
  };
  CollectiveCall call{.size = Bytes(1e6), .algorithm = "nccl"};
  EXPECT_NEAR(longer_us(call, one_node()), 2, 1e-6);
  call.stretch = 3;  // the wait is not the wire's
  EXPECT_NEAR(longer_us(call, one_node()), 2, 1e-6);
  call.op = CollectiveOp::all_gather;
  EXPECT_NEAR(longer_us(call, four_nodes()), 2, 1e-6);
  EXPECT_EQ(longer_us({.size = Bytes(1e5), .algorithm = "one_shot"}, one_node()), 0);
  EXPECT_EQ(longer_us({.op = CollectiveOp::send_recv, .size = Bytes(1e5)}, one_node(2)), 0);
  EXPECT_EQ(longer_us(call, GroupLinks{}), 0);
}

TEST(CollectiveCost, OneRankCostsNothing) {
  EXPECT_EQ(collective_time({.size = Bytes(1e9)}, GroupLinks{}, {}), Seconds(0));
}

TEST(CollectiveCost, WithoutProtocolsIsABug) {
  EXPECT_THROW((void)collective_time({.size = Bytes(1)}, one_node(), {}), InternalError);
}

// More bytes never take less on any built-in fabric, nor do fewer protocols.
TEST(CollectiveCost, GrowsWithSizeAndRanks) {
  for (const char* name : {"a100-sxm-8x2", "h100-sxm-8x4", "b200-sxm-8", "l40s-8"}) {
    const ClusterSpec cluster = load_cluster(name, {});
    std::vector<GpuId> group;
    for (int i = 0; i < cluster.gpu_count(); ++i) group.push_back({static_cast<std::uint32_t>(i)});
    const GroupLinks links = group_links(cluster, group);
    for (std::size_t op = 0; op < EnumNames<CollectiveOp>::names.size(); ++op) {
      CollectiveCall call;
      call.op = static_cast<CollectiveOp>(op);
      call.algorithm = "nccl";
      call.experts = {256, 8, ExpertMode::low_latency};
      Seconds before;
      for (double size = 1; size < 1e10; size *= 1.5) {
        call.size = Bytes(size);
        const Seconds time = collective_time(call, links, cluster.comm);
        EXPECT_GE(time, before) << name << " " << enum_name(call.op) << " " << size;
        before = time;
      }
    }
  }
}

// Half the bandwidth or more latency never makes a collective faster, whatever is chosen.
TEST(CollectiveCost, SlowerLinksNeverMakeItFaster) {
  for (const char* name : {"h100-sxm-8", "h100-sxm-8x4", "l40s-8"}) {
    const ClusterSpec cluster = load_cluster(name, {});
    std::vector<GpuId> group;
    for (int i = 0; i < cluster.gpu_count(); ++i) group.push_back({static_cast<std::uint32_t>(i)});
    const GroupLinks links = group_links(cluster, group);
    GroupLinks slower = links;
    slower.inside_bandwidth = links.inside_bandwidth / 2;
    slower.node_bandwidth = links.node_bandwidth / 3;
    slower.bandwidth = links.bandwidth / 3;
    slower.inside_latency = links.inside_latency * 2;
    slower.across_latency = links.across_latency * 2;
    for (const std::string_view algorithm : all_reduce_names()) {
      for (double size = 100; size < 1e10; size *= 3) {
        const CollectiveCall call{.size = Bytes(size), .algorithm = algorithm};
        EXPECT_GE(collective_time(call, slower, cluster.comm),
                  collective_time(call, links, cluster.comm))
            << name << " " << algorithm << " " << size;
      }
    }
  }
}

// Fabrics of the program against single measurements (AIConfigurator's NCCL tables, half
// precision): all-reduce of 8 at 512 MB and of 2 at 32 MB.
TEST(CollectiveCost, BuiltInFabricsAreWithinReachOfMeasurements) {
  struct Row {
    const char* cluster;
    double bytes, measured_us;
  };
  for (const Row& row : {Row{"a100-sxm-8", 512, 4225.9}, Row{"h100-sxm-8", 512, 2111.06},
                         Row{"b200-sxm-8", 512, 1334.56}}) {
    const ClusterSpec cluster = load_cluster(row.cluster, {});
    std::vector<GpuId> group;
    for (std::uint32_t i = 0; i < 8; ++i) group.push_back({i});
    const double predicted = microseconds(CollectiveOp::all_reduce, row.bytes * 1024 * 1024,
                                          group_links(cluster, group), cluster.comm);
    EXPECT_NEAR(predicted / row.measured_us, 1, 0.1) << row.cluster;
  }
}

}  // namespace
}  // namespace foretoken
