// Fitting of communication: planted laws are found again, splits keep what they promise, and what
// is shipped agrees with our own measurements and, where they are, with the public ones.
#include "calibration/fit/comm_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "calibration/evaluate/comm_report.hpp"
#include "calibration/evaluate/comm_split.hpp"
#include "calibration/fit/fabric_fit.hpp"
#include "calibration/fit/judge_comm.hpp"
#include "calibration/fit/pattern_search.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

/// all_reduce of 2, 4 and 8 H100s, 1 KiB to 64 MiB, exactly as a law says.
std::vector<CommRow> planted_rows(const CommLaw& law) {
  MeasuredClusters clusters;
  std::vector<CommRow> rows;
  for (const int ranks : {2, 4, 8}) {
    for (double bytes = 1024; bytes <= 64 << 20; bytes *= 2) {
      CommRow row;
      row.point = point_on(clusters.find("h100-sxm"), 1, ranks);
      row.point.bytes = bytes;
      row.time = law.time(row.point);
      row.gpu = "h100-sxm";
      rows.push_back(row);
    }
  }
  return rows;
}

const CommLaw planted{{CommLine{Seconds(4e-6), Seconds(0.8e-6), BytesPerSecond(40e9)},
                       CommLine{Seconds(18e-6), Seconds(1.2e-6), BytesPerSecond(340e9)}}};

TEST(PatternSearch, FindsALeastLossWithAKink) {
  // |log(x / 3)| + |log(y / 70)|, from a far start; what is 0 stays 0.
  const auto found = pattern_search({100, 1, 0}, [](std::span<const double> numbers) {
    return std::abs(std::log(numbers[0] / 3)) + std::abs(std::log(numbers[1] / 70)) + numbers[2];
  });
  EXPECT_NEAR(found[0], 3, 0.05);
  EXPECT_NEAR(found[1], 70, 1);
  EXPECT_EQ(found[2], 0);
}

// min(|log x| + 1, |log(x / 1000)|): a shallow end at 1 and the true one at 1000. From 2 a search
// stays at the first.
TEST(PatternSearch, BeginsOnSeveralSides) {
  const auto loss = [](std::span<const double> numbers) {
    return std::min(std::abs(std::log(numbers[0])) + 1, std::abs(std::log(numbers[0] / 1000)));
  };
  EXPECT_NEAR(pattern_search({2}, loss)[0], 1, 0.02);
  EXPECT_NEAR(search_from({{2}, {300}, {5}, {0.1}}, loss)[0], 1000, 10);
}

// smooth (sqrt(1 + (e / smooth)^2) - 1) with smooth 0.1: e = 0.1 loses 0.1 (sqrt 2 - 1).
TEST(PatternSearch, LosesWhatTheLogErrorSays) {
  EXPECT_DOUBLE_EQ(log_loss(5, 5), 0);
  EXPECT_NEAR(log_loss(std::exp(0.1), 1), 0.1 * (std::sqrt(2.0) - 1), 1e-12);
  EXPECT_NEAR(log_loss(1, std::exp(0.1)), log_loss(std::exp(0.1), 1), 1e-12);
}

TEST(CommFit, FindsAPlantedLawAgain) {
  const std::vector<CommRow> rows = planted_rows(planted);
  const MeasuredCommunication fitted = fit_communication(rows, {}, 0);
  for (const CommRow& row : rows) {
    const Seconds price = fitted.price(row.point, "h100-sxm").time;
    EXPECT_NEAR(price / row.time, 1, 0.06) << row.point.ranks << " " << row.point.bytes;
  }
}

TEST(CommFit, IsReproducible) {
  const std::vector<CommRow> rows = planted_rows(planted);
  EXPECT_EQ(to_json(fit_communication(rows, {}, 0).to_value()),
            to_json(fit_communication(rows, {}, 0).to_value()));
}

TEST(CommFit, ArtifactPricesAsTheFitDoes) {
  const std::vector<CommRow> rows = planted_rows(planted);
  const MeasuredCommunication fitted = fit_communication(rows, {}, 0);
  const MeasuredCommunication read =
      MeasuredCommunication::from_value(parse_json(to_json(fitted.to_value()), {}));
  for (const CommRow& row : rows) {
    EXPECT_EQ(read.price(row.point, "h100-sxm").time, fitted.price(row.point, "h100-sxm").time);
  }
}

/// NCCL's all-reduce, all-gather and reduce-scatter of 2, 4 and 8 GPUs as a fabric's constants say.
std::vector<CommRow> rows_on(const CommParameters& parameters) {
  MeasuredClusters clusters;
  const ClusterSpec& cluster = clusters.find("a100-sxm");
  std::vector<CommRow> rows;
  for (const auto op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    for (const int ranks : {2, 4, 8}) {
      std::vector<GpuId> group;
      for (int gpu = 0; gpu < ranks; ++gpu) group.push_back({std::uint32_t(gpu)});
      for (double bytes = 1024; bytes <= 512 << 20; bytes *= 2) {
        CommRow row;
        row.point = point_on(cluster, 1, ranks);
        row.point.op = op;
        row.point.bytes = bytes;
        row.point.launch = CommLaunch::bench;
        row.links = group_links(cluster, group);
        row.gpu = "a100-sxm";
        row.time = closed_form(row, parameters);
        rows.push_back(row);
      }
    }
  }
  return rows;
}

// Three fabrics that nobody built: slow and fast to begin, cheap and dear to step. From 2 and 4
// ranks, 8 come out.
TEST(FabricFit, FindsRingsOfAnyFabricAgain) {
  const std::vector<std::vector<double>> fabrics = {
      {3, 0.5, 0.05, 6, 0.6, 0.5, 30, 2, 0.9, 0.5},
      {15, 2, 0.02, 17, 2.5, 0.3, 40, 12, 0.7, 0.2},
      {1.5, 0.1, 0.1, 2, 0.2, 0.6, 5, 0.4, 0.95, 0.8}};
  for (const std::vector<double>& planted_fabric : fabrics) {
    MeasuredClusters clusters;
    CommParameters parameters = clusters.find("a100-sxm").comm;
    std::size_t at = 0;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const double launch = planted_fabric[at++], step = planted_fabric[at++];
      parameters.inside.of(protocol) = {Seconds(launch * 1e-6), Seconds(step * 1e-6),
                                        planted_fabric[at++]};
    }
    const double own = planted_fabric[at];
    parameters.inside.own_part = {own, own, own, own};
    const std::vector<CommRow> rows = rows_on(parameters);
    std::vector<CommRow> few;
    std::ranges::copy_if(rows, std::back_inserter(few),
                         [](const CommRow& row) { return row.point.ranks < 8; });
    const FabricConstants found = fit_fabrics(few);
    ScoreBoard board;
    for (const CommRow& row : rows) {
      if (row.point.ranks == 8)
        board.add(closed_form(row, found.at("a100-sxm")).value(), row.time.value());
    }
    EXPECT_LT(board.score().median, 0.03) << planted_fabric[0];
    EXPECT_LT(board.score().p90, 0.12) << planted_fabric[0];
  }
}

TEST(CommSplit, KeepsSizesAndRanksApart) {
  const std::vector<CommRow> rows = planted_rows(planted);
  const std::vector<CommFold> sizes = comm_folds(rows, CommSplit::sizes);
  ASSERT_EQ(sizes.size(), 1u);
  for (const CommRow& judged : sizes[0].judged) {
    for (const CommRow& training : sizes[0].training)
      EXPECT_NE(judged.point.bytes, training.point.bytes);
  }
  EXPECT_EQ(sizes[0].judged.size() + sizes[0].training.size(), rows.size());
  const std::vector<CommFold> ranks = comm_folds(rows, CommSplit::ranks);
  ASSERT_EQ(ranks.size(), 1u);
  for (const CommRow& row : ranks[0].judged) EXPECT_EQ(row.point.ranks, 8);
  for (const CommRow& row : ranks[0].training) EXPECT_LT(row.point.ranks, 8);
  EXPECT_TRUE(comm_folds(rows, CommSplit::gpu).empty());  // nothing would be left to train on
  EXPECT_TRUE(comm_folds(rows, CommSplit::nodes).empty());
}

TEST(CommSplit, DividesNoRowsThatOnlyJudge) {
  std::vector<CommRow> rows = planted_rows(planted);
  const std::size_t all = rows.size();
  for (std::size_t row = 0; row < all; ++row) {
    rows.push_back(rows[row]);
    rows.back().origin = pipeweave_origin;
  }
  const CommFold sizes = comm_folds(rows, CommSplit::sizes).front();
  EXPECT_EQ(sizes.judged.size() + sizes.training.size(), all);
}

// Of a GPU without measured times the database answers for the nearest one, the formulas with the
// GPU's own constants.
TEST(CommReport, ShippedPricesOfAGpuThatNobodyMeasured) {
  MeasuredClusters clusters;
  CommRow row;
  row.gpu = "h800";
  row.point = point_on(clusters.find(row.gpu), 1, 8);
  row.point.bytes = 1 << 20;
  row.links = group_links(clusters.find(row.gpu),
                          std::vector<GpuId>{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}});
  row.time = closed_form(row, clusters.find(row.gpu).comm);
  CommReport report;
  judge_shipped({row}, report);
  const CommReport::Line line = {"as shipped", "nccl graph", "all_reduce", "h800", "all"};
  ASSERT_EQ(report.closed_form(line).rows, 1u);
  EXPECT_NEAR(report.closed_form(line).mape, 0, 1e-12);
}

TEST(CommReport, SumsOverBandsAndGpus) {
  EXPECT_EQ(size_band(65535), "< 64 KiB");
  EXPECT_EQ(size_band(65536), "64 KiB to 1 MiB");
  EXPECT_EQ(size_band(1 << 20), "1 to 16 MiB");
  EXPECT_EQ(size_band(16 << 20), "1 to 16 MiB");
  EXPECT_EQ(size_band((16 << 20) + 2), "> 16 MiB");
  CommReport report;
  report.add({"s", "nccl", "all_reduce", "a", "< 64 KiB"}, 1.1, 2.0, 1);
  report.add({"s", "nccl", "all_reduce", "b", "> 16 MiB"}, 0.7, 1.0, 1);
  EXPECT_NEAR(report.forest({"s", "nccl", "all_reduce", "a", "all"}).median, 0.1, 1e-12);
  const Score all = report.forest({"s", "nccl", "all_reduce", "all", "all"});
  EXPECT_EQ(all.rows, 2u);
  EXPECT_NEAR(all.mape, 0.2, 1e-12);
  EXPECT_NEAR(report.closed_form({"s", "nccl", "all_reduce", "all", "all"}).mape, 0.5, 1e-12);
  EXPECT_EQ(report.forest({"s", "nccl", "all_reduce", "c", "all"}).rows, 0u);
}

/// The median error of the shipped database on our calls between `ranks` GPUs, inside graphs.
Score shipped_score(const char* operation, int ranks) {
  const CommDataset own = load_own_comm(FORETOKEN_SOURCE_DIR "/calibration/datasets");
  std::vector<CommRow> rows = comm_rows(own.samples);
  std::erase_if(rows, [&](const CommRow& row) { return row.point.ranks != ranks; });
  CommReport report;
  judge_shipped(rows, report);
  return report.forest({"as shipped", "nccl graph", operation, "h200-sxm", "all"});
}

TEST(CommAccuracy, ShippedPricesAgreeWithOurMeasurements) {
  for (const char* operation :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}) {
    for (const int ranks : {2, 4}) {
      if (operation == std::string_view("send_recv") && ranks == 4) continue;  // two take part
      const Score score = shipped_score(operation, ranks);
      EXPECT_EQ(score.rows, 39u) << operation << " " << ranks;
      EXPECT_LT(score.median, 0.03) << operation << " " << ranks;
    }
  }
}

// The public tables, held out: sizes from their neighbours, 8 GPUs from 2 and 4.
TEST(CommAccuracy, HeldOutSizesAndRanksOfPublicTables) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const std::vector<CommRow> rows = comm_rows(load_comm_data(folder).samples);
  const auto without_constants = [&](CommSplit split, std::string_view band) {
    ScoreBoard board;
    for (const CommFold& fold : comm_folds(rows, split)) {
      const MeasuredCommunication fitted = fit_communication(fold.training, {}, 0);
      for (const CommRow& row : fold.judged) {
        const CommPoint& point = row.point;
        if (point.library != CommLibrary::nccl || point.launch != CommLaunch::bench ||
            point.op != CollectiveOp::all_reduce || row.gpu == "l40s" ||
            size_band(point.bytes) != band)
          continue;
        board.add(fitted.time_on(*fitted.find(row.gpu), point).value(), row.time.value());
      }
    }
    return board.score();
  };
  for (const CommSplit split : {CommSplit::sizes, CommSplit::ranks}) {
    for (const char* band : {"< 64 KiB", "64 KiB to 1 MiB"})
      EXPECT_LT(without_constants(split, band).median, 0.20) << enum_name(split) << " " << band;
    for (const char* band : {"1 to 16 MiB", "> 16 MiB"})
      EXPECT_LT(without_constants(split, band).median, 0.10) << enum_name(split) << " " << band;
  }
}

// The formulas of NCCL's all-reduce between 8 GPUs, from 2 and 4 of them.
TEST(CommAccuracy, FormulasOfRanksHeldOut) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const std::vector<CommRow> rows = comm_rows(load_comm_data(folder).samples);
  const CommFold fold = comm_folds(rows, CommSplit::ranks).front();
  const FabricConstants found = fit_fabrics(fold.training);
  ScoreBoard small, large;
  for (const CommRow& row : fold.judged) {
    if (row.point.library != CommLibrary::nccl || row.point.launch != CommLaunch::bench ||
        row.point.op != CollectiveOp::all_reduce)
      continue;
    ScoreBoard& board = row.point.bytes < 1 << 20 ? small : large;
    board.add(closed_form(row, found.at(row.gpu)).value(), row.time.value());
  }
  EXPECT_LT(small.score().median, 0.20);
  EXPECT_LT(large.score().median, 0.10);
}

}  // namespace
}  // namespace foretoken
