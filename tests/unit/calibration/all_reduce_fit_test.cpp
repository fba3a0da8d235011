// Engines' all-reduces: the fit finds what was planted, and the public tables are priced well.
#include "calibration/fit/all_reduce_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "calibration/fit/judge_engines.hpp"
#include "kernels/communication/collective_algorithm.hpp"

namespace foretoken::all_reduce_fit_test {
namespace {

/// 2 ranks behind an H100's switch, one shot below 1 MiB, two shot below 64 MiB.
AllReduceChoices table_of(double launch_us, double share) {
  const ProtocolCosts costs{Seconds(launch_us * 1e-6), Seconds(0), share};
  return AllReduceChoices(
      {{.engine = Framework::vllm,
        .since = "0.1",
        .fabric = "nvswitch-hopper",
        .ranks = 2,
        .kernels = {{"one_shot", 0x1p20, costs}, {"two_shot", 0x1p26, costs}}}});
}

std::vector<CommSample> samples_of(const AllReduceChoices& planted) {
  MeasuredClusters clusters;
  const ClusterSpec& cluster = clusters.find("h100-sxm");
  const std::vector<GpuId> group = {{0}, {1}};
  const GroupLinks links = group_links(cluster, group);
  std::vector<CommSample> samples;
  for (double bytes = 256; bytes < 0x1p26; bytes *= 2) {
    const AllReduceKernel* kernel = planted.choices()[0].kernel_for(bytes);
    const CollectiveCall call{.size = Bytes(bytes)};
    CommSample sample;
    sample.gpu = "h100-sxm";
    sample.library = CommLibrary::vllm;
    sample.launch = CommLaunch::graph;
    sample.version = "0.2.1";
    sample.bytes = bytes;
    sample.time = cost_by(*kernel, call, links, cluster.comm)->time();
    samples.push_back(sample);
  }
  return samples;
}

TEST(AllReduceFit, FindsWhatWasPlanted) {
  const std::vector<CommSample> samples = samples_of(table_of(4, 0.7));
  const AllReduceChoices start = table_of(9, 0.2);
  const AllReduceChoices fitted = fit_all_reduce(start, engine_rows(samples, start));
  const AllReduceChoice& choice = fitted.choices()[0];
  ASSERT_EQ(choice.kernels.size(), 2U);
  for (const AllReduceKernel& kernel : choice.kernels) {
    EXPECT_NEAR(kernel.costs.launch.value() * 1e6, 4, 0.01) << kernel.algorithm;
    EXPECT_NEAR(kernel.costs.share, 0.7, 0.001) << kernel.algorithm;
  }
  EXPECT_EQ(choice.kernels[0].bytes_below, 0x1p20);
  EXPECT_EQ(choice.kernels[1].bytes_below, 0x1p26);
}

TEST(AllReduceFit, AnOutlierBuysNoPiece) {
  std::vector<CommSample> samples = samples_of(table_of(4, 0.7));
  samples[4].time *= 1.4;
  const AllReduceChoices start = table_of(9, 0.2);
  const AllReduceChoices fitted = fit_all_reduce(start, engine_rows(samples, start));
  EXPECT_EQ(fitted.choices()[0].kernels.size(), 2U);
}

// Two shots slow down on the last step measured, 16 to 32 MiB, by more than a launch explains: what
// is larger takes as long a byte as 32 MiB, and what is smaller is priced as without a piece.
TEST(AllReduceFit, BeyondTheLargestSizeTheLastStepGoesOn) {
  std::vector<CommSample> samples = samples_of(table_of(4, 0.7));
  samples.back().time *= 1.2;
  AllReduceChoices start = table_of(9, 0.2);
  AllReduceChoice open = start.choices()[0];
  open.kernels.back().bytes_below = 0x1p28;
  start = AllReduceChoices({open});
  const AllReduceChoice fitted = fit_all_reduce(start, engine_rows(samples, start)).choices()[0];
  ASSERT_EQ(fitted.kernels.size(), 3U);
  EXPECT_EQ(fitted.kernels[1].bytes_below, 0x1p25 + 1);
  EXPECT_EQ(fitted.kernels[2].bytes_below, 0x1p28);
  EXPECT_NEAR(fitted.kernels[1].costs.share, 0.7, 0.05);
  MeasuredClusters clusters;
  const ClusterSpec& cluster = clusters.find("h100-sxm");
  const std::vector<GpuId> group = {{0}, {1}};
  const auto us = [&](double bytes) {
    return cost_by(*fitted.kernel_for(bytes), {.size = Bytes(bytes)}, group_links(cluster, group),
                   cluster.comm)
               ->time()
               .value() *
           1e6;
  };
  EXPECT_NEAR(us(0x1p26) / (2 * samples.back().time.value() * 1e6), 1, 0.02);
}

TEST(AllReduceFit, ChoicesWithoutRowsStayAsTheyAre) {
  const AllReduceChoices start = table_of(9, 0.2);
  EXPECT_EQ(fit_all_reduce(start, {}).choices()[0].kernels, start.choices()[0].kernels);
}

/// Of all versions of an engine.
Score score_of(const EngineReport& report, std::string_view engine, int ranks, int band,
               ScoreBoard EngineReport::Boards::*column) {
  const auto found = report.lines().find({std::string(engine) + " (all)", ranks, band});
  return found == report.lines().end() ? Score() : (found->second.*column).score();
}

// What issue and users ask: each engine's own kernel at sizes left out of the fit within 8 % below
// 1 MiB and 10 % above; what the program prices from 8 to 64 MiB among 8 within 12 %.
TEST(AllReduceAccuracy, EnginesOfThePublicTables) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const CommDataset dataset = load_comm_data(folder);
  const EngineReport report =
      judge_engines(engine_rows(dataset.samples, AllReduceChoices::built_in()));
  using Boards = EngineReport::Boards;
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    EXPECT_GT(score_of(report, engine, 0, 0, &Boards::own).rows, 50U) << engine;
    EXPECT_LT(score_of(report, engine, 0, 0, &Boards::own).mape, 0.08) << engine;
    EXPECT_LT(score_of(report, engine, 0, 1, &Boards::own).mape, 0.10) << engine;
    EXPECT_LT(score_of(report, engine, 0, 0, &Boards::shipped).mape, 0.05) << engine;
    EXPECT_LT(score_of(report, engine, 8, 2, &Boards::shipped).mape, 0.12) << engine;
  }
}

}  // namespace
}  // namespace foretoken::all_reduce_fit_test
