// Critical paths of parts of a batch that take turns on streams, drawn by hand.
#include "workloads/batch_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace foretoken::batch_schedule_test {
namespace {

constexpr Stream compute = Stream::compute, communication = Stream::communication;

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> made;
  for (const double value : values) made.emplace_back(value);
  return made;
}

/// Two layers of one computation and one transfer.
const std::vector<SegmentBlock> two_layers = {{0, {compute, communication}, 2}};

// 3 s of computation and 2 s of transfers a layer and half, A and B:
//   compute  A1 0-3 · B1 3-6 · A2 6-9 · B2 9-12
//   links           A1 3-5 · B1 6-8 · A2 9-11 · B2 12-14
// Only the last transfer has nothing beside it: 14 s in place of 20.
TEST(TwoBatch, HidesTransfersUnderComputation) {
  const BatchSchedule schedule(two_layers);
  const auto half = seconds({6, 4});
  EXPECT_DOUBLE_EQ(schedule.critical_path(std::vector{half, half}).value(), 14);
}

// 1 s of computation and 4 s of transfers: the links never rest after the first second.
//   compute  A1 0-1 · B1 1-2 · A2 5-6 · B2 9-10
//   links    A1 1-5 · B1 5-9 · A2 9-13 · B2 13-17
TEST(TwoBatch, HidesComputationUnderTransfers) {
  const BatchSchedule schedule(two_layers);
  const auto half = seconds({2, 8});
  EXPECT_DOUBLE_EQ(schedule.critical_path(std::vector{half, half}).value(), 17);
}

// Halves that differ: A computes 4 s and sends 1 s a layer, B 2 s and 3 s.
//   compute  A1 0-4 · B1 4-6 · A2 6-10 · B2 10-12
//   links           A1 4-5 · B1 6-9 · A2 10-11 · B2 12-15
TEST(TwoBatch, HalvesMayDiffer) {
  const BatchSchedule schedule(two_layers);
  EXPECT_DOUBLE_EQ(schedule.critical_path(std::vector{seconds({8, 2}), seconds({4, 6})}).value(),
                   15);
}

TEST(TwoBatch, WithoutTransfersHalvesFollowEachOther) {
  const BatchSchedule schedule({{0, {compute}, 4}});
  EXPECT_DOUBLE_EQ(schedule.critical_path(std::vector{seconds({4}), seconds({2})}).value(), 6);
}

// A block before the layers (1 s each half) and one behind (2 s each half), around one layer of 3 s
// and 2 s:
//   compute  A 0-1 · B 1-2 · A 2-5 · B 5-8 · A 8-10 · B 10-12
//   links                     A 5-7 · B 8-10
TEST(TwoBatch, BlocksFollowEachOther) {
  const BatchSchedule schedule(
      {{0, {compute}, 1}, {1, {compute, communication}, 1}, {3, {compute}, 1}});
  const auto half = seconds({1, 3, 2, 2});
  EXPECT_DOUBLE_EQ(schedule.critical_path(std::vector{half, half}).value(), 12);
}

// Never below either stream's own work, never above doing everything in a row.
TEST(TwoBatch, StaysBetweenTheBusierStreamAndTheSum) {
  const BatchSchedule schedule({{0, {compute, communication, compute, communication}, 3}});
  for (double transfer = 0; transfer < 8; transfer += 0.5) {
    const auto half = seconds({2, transfer, 3, transfer});
    const double path = schedule.critical_path(std::vector{half, half}).value();
    EXPECT_GE(path, std::max(10.0, 4 * transfer));
    EXPECT_LE(path, 10.0 + 4 * transfer + 1e-12);
  }
}

/// Layers whose experts are apart.
std::vector<SegmentBlock> layers_apart(int layers) {
  return {{0, {compute, Stream::to_experts, Stream::experts, Stream::from_experts}, layers}};
}

std::vector<std::vector<Seconds>> micro_batches(std::size_t count, std::vector<Seconds> each) {
  return std::vector<std::vector<Seconds>>(count, each);
}

TEST(ExpertsApart, OneMicroBatchIsTheSum) {
  const BatchSchedule schedule(layers_apart(5));
  const auto parts = micro_batches(1, seconds({10, 5, 15, 5}));
  EXPECT_DOUBLE_EQ(schedule.critical_path(parts).value(), 35);
}

// A layer of 2 s of attention, 1 s there, 2 s of experts, 1 s back: three micro-batches come back
// just when attention has ended with the third, two do not.
//   attention  A1 0-2 · B1 2-4 · C1 4-6 · A2 6-8 …    experts  A1 3-5 · B1 5-7 · C1 7-9 · A2 9-11 …
// Of L layers attention ends at 6 L; the last one's experts bring the third micro-batch 4 s more.
TEST(ExpertsApart, ThreeMicroBatchesHideTransfersAndTheOtherSide) {
  constexpr int layers = 4;
  const BatchSchedule schedule(layers_apart(layers));
  const auto each = seconds({2.0 * layers, 1.0 * layers, 2.0 * layers, 1.0 * layers});
  EXPECT_DOUBLE_EQ(schedule.critical_path(micro_batches(3, each)).value(), 6 * layers + 4);
  const SideTimes sides = schedule.sides(micro_batches(3, each));
  EXPECT_DOUBLE_EQ(sides.attention.value(), 6 * layers);
  EXPECT_DOUBLE_EQ(sides.experts.value(), 6 * layers);
  EXPECT_DOUBLE_EQ(sides.links.value(), 3 * layers);
  // Two: a layer takes a micro-batch's 6 s there and back, of which attention works 4.
  EXPECT_DOUBLE_EQ(schedule.critical_path(micro_batches(2, each)).value(), 6 * layers + 2);
}

// The condition of MegaScale-Infer (arXiv 2504.02263, section 4.1, eq. 1 to 3): with balanced sides
// of T_f and transfers T_c < T_f, m >= 2 (1 + T_c / T_f) micro-batches hide the transfers.
TEST(ExpertsApart, AsManyMicroBatchesHideTransfersAsPublished) {
  constexpr int layers = 50;
  const BatchSchedule schedule(layers_apart(layers));
  for (const double transfer : {0.0, 0.1, 0.4, 0.5, 0.6, 0.9}) {
    const double enough = std::ceil(2 * (1 + transfer) - 1e-9);
    for (int count = 1; count <= 5; ++count) {
      const auto each = seconds({layers, transfer * layers, layers, transfer * layers});
      const double time =
          schedule.critical_path(micro_batches(static_cast<std::size_t>(count), each)).value();
      const double filled = count * layers + (count >= enough ? 2 * transfer + 1 : 0);
      if (count >= enough) {
        EXPECT_NEAR(time, filled, 1e-9) << transfer << " " << count;
      } else {
        EXPECT_GT(time, filled + (layers - 3) * 0.1) << transfer << " " << count;
      }
    }
  }
}

// What attention's GPUs do behind the experts and before the next is one turn; if each were one of
// its own, the first micro-batch would wait for the last one's experts before its next layer.
TEST(ExpertsApart, WhatFollowsTheExpertsIsPartOfTheNextTurn) {
  const BatchSchedule split(
      {{0, {compute, Stream::to_experts, Stream::experts, Stream::from_experts, compute}, 10}});
  const BatchSchedule whole(layers_apart(10));
  const auto in_two = micro_batches(3, seconds({10, 5, 15, 5, 5}));
  const auto in_one = micro_batches(3, seconds({15, 5, 15, 5}));
  EXPECT_NEAR(split.critical_path(in_two).value(), whole.critical_path(in_one).value(), 1.0);
}

// Random times: never below any side's own work or one micro-batch's way, never above the sum.
TEST(ExpertsApart, StaysBetweenTheBusiestSideAndTheSum) {
  std::uint32_t state = 7;
  const auto draw = [&] {
    return static_cast<double>((state = state * 1664525U + 1013904223U) >> 20);
  };
  for (int trial = 0; trial < 300; ++trial) {
    const BatchSchedule schedule(layers_apart(1 + trial % 7));
    std::vector<std::vector<Seconds>> parts;
    double sum = 0, longest = 0;
    for (int part = 0; part <= trial % 4; ++part) {
      parts.push_back(seconds({draw(), draw(), draw(), draw()}));
      double own = 0;
      for (const Seconds time : parts.back()) own += time.value();
      sum += own;
      longest = std::max(longest, own);
    }
    const SideTimes sides = schedule.sides(parts);
    const double time = sides.step.value();
    const double busiest = std::max({sides.attention, sides.experts, sides.links}).value();
    EXPECT_GE(time, std::max(busiest, longest) - 1e-6);
    EXPECT_LE(time, sum + 1e-6);
    if (parts.size() > 1) continue;
    EXPECT_NEAR(time, sum, 1e-6);
  }
}

}  // namespace
}  // namespace foretoken::batch_schedule_test
