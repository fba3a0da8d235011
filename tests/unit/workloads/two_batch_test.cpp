// Critical paths of two half batches over a stage's two streams, drawn by hand.
#include "workloads/two_batch.hpp"

#include <gtest/gtest.h>

namespace foretoken {
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
  const TwoBatchSchedule schedule(two_layers);
  const auto half = seconds({6, 4});
  EXPECT_DOUBLE_EQ(schedule.critical_path(half, half).value(), 14);
}

// 1 s of computation and 4 s of transfers: the links never rest after the first second.
//   compute  A1 0-1 · B1 1-2 · A2 5-6 · B2 9-10
//   links    A1 1-5 · B1 5-9 · A2 9-13 · B2 13-17
TEST(TwoBatch, HidesComputationUnderTransfers) {
  const TwoBatchSchedule schedule(two_layers);
  const auto half = seconds({2, 8});
  EXPECT_DOUBLE_EQ(schedule.critical_path(half, half).value(), 17);
}

// Halves that differ: A computes 4 s and sends 1 s a layer, B 2 s and 3 s.
//   compute  A1 0-4 · B1 4-6 · A2 6-10 · B2 10-12
//   links           A1 4-5 · B1 6-9 · A2 10-11 · B2 12-15
TEST(TwoBatch, HalvesMayDiffer) {
  const TwoBatchSchedule schedule(two_layers);
  EXPECT_DOUBLE_EQ(schedule.critical_path(seconds({8, 2}), seconds({4, 6})).value(), 15);
}

TEST(TwoBatch, WithoutTransfersHalvesFollowEachOther) {
  const TwoBatchSchedule schedule({{0, {compute}, 4}});
  EXPECT_DOUBLE_EQ(schedule.critical_path(seconds({4}), seconds({2})).value(), 6);
}

// A block before the layers (1 s each half) and one behind (2 s each half), around one layer of 3 s
// and 2 s:
//   compute  A 0-1 · B 1-2 · A 2-5 · B 5-8 · A 8-10 · B 10-12
//   links                     A 5-7 · B 8-10
TEST(TwoBatch, BlocksFollowEachOther) {
  const TwoBatchSchedule schedule(
      {{0, {compute}, 1}, {1, {compute, communication}, 1}, {3, {compute}, 1}});
  const auto half = seconds({1, 3, 2, 2});
  EXPECT_DOUBLE_EQ(schedule.critical_path(half, half).value(), 12);
}

// Never below either stream's own work, never above doing everything in a row.
TEST(TwoBatch, StaysBetweenTheBusierStreamAndTheSum) {
  const TwoBatchSchedule schedule({{0, {compute, communication, compute, communication}, 3}});
  for (double transfer = 0; transfer < 8; transfer += 0.5) {
    const auto half = seconds({2, transfer, 3, transfer});
    const double path = schedule.critical_path(half, half).value();
    EXPECT_GE(path, std::max(10.0, 4 * transfer));
    EXPECT_LE(path, 10.0 + 4 * transfer + 1e-12);
  }
}

}  // namespace
}  // namespace foretoken
