#include "calibration/datasets/doubted_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/datasets/family_table.hpp"
#include "calibration/evaluate/family_rows.hpp"

namespace foretoken::doubted_rows_test {
namespace {

Sample sample_of(std::int64_t m, double us, std::int64_t n = 4096,
                 const std::string& source = "sglang_deepgemm") {
  Gemm gemm{m, n, 12288, DType::fp8_block, {Framework::sglang, KernelSource::deep_gemm}};
  return {gemm, "h100-sxm", Seconds(us * 1e-6), source, "aiconfigurator", fmt::format("n{}", n)};
}

Dataset dataset_of(std::vector<Sample> samples) {
  Dataset dataset;
  dataset.samples = std::move(samples);
  return dataset;
}

/// The m of doubted samples, in their order.
std::vector<std::int64_t> doubted(std::vector<Sample> samples) {
  Dataset dataset = dataset_of(std::move(samples));
  std::vector<std::int64_t> out;
  for (const DoubtedRow& row : doubt_rows(dataset)) {
    EXPECT_TRUE(dataset.samples[row.sample].is_doubted);
    out.push_back(std::get<Gemm>(dataset.samples[row.sample].kernel).m);
  }
  return out;
}

TEST(DoubtedRows, AreThoseThatContradictBothNeighbours) {
  // As the H100's table has it; rows come in any order.
  const std::vector<Sample> samples = {sample_of(1025, 125), sample_of(769, 94.5),
                                       sample_of(1024, 257.5), sample_of(1280, 106.9),
                                       sample_of(1281, 126.7)};
  EXPECT_THAT(doubted(samples), testing::ElementsAre(1024));
}

TEST(DoubtedRows, TellWhatTheNeighboursTook) {
  Dataset dataset = dataset_of({sample_of(8, 10), sample_of(16, 30), sample_of(32, 12)});
  const std::vector<DoubtedRow> rows = doubt_rows(dataset);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].sample, 1u);
  EXPECT_EQ(rows[0].m_before, 8);
  EXPECT_EQ(rows[0].m_after, 32);
  EXPECT_DOUBLE_EQ(rows[0].before.value(), 10e-6);
  EXPECT_DOUBLE_EQ(rows[0].after.value(), 12e-6);
}

TEST(DoubtedRows, DearRowsDoNotMakeTheirNeighboursLookCheap) {
  EXPECT_THAT(doubted({sample_of(513, 51.5), sample_of(768, 145.3), sample_of(769, 59.3),
                       sample_of(1024, 160.9), sample_of(1025, 76.7)}),
              testing::ElementsAre(768, 1024));
  EXPECT_THAT(doubted({sample_of(64, 50), sample_of(65, 20), sample_of(80, 52)}),
              testing::ElementsAre(65));
}

TEST(DoubtedRows, AreNotStepsNorCurveEndsNorOtherKernels) {
  // A step of tiles, and one row in the last tile, 1.7 times as long as a full one.
  EXPECT_THAT(
      doubted({sample_of(256, 31), sample_of(257, 85), sample_of(512, 50), sample_of(513, 113)}),
      testing::IsEmpty());
  EXPECT_THAT(doubted({sample_of(1, 90), sample_of(2, 10), sample_of(3, 10)}), testing::IsEmpty());
  EXPECT_THAT(doubted({sample_of(8, 10), sample_of(16, 30, 8192), sample_of(32, 12)}),
              testing::IsEmpty());
  EXPECT_THAT(doubted({sample_of(8, 10), sample_of(16, 30, 4096, "other"), sample_of(32, 12)}),
              testing::IsEmpty());
}

TEST(DoubtedRows, JudgeAndDoNotTrain) {
  Dataset dataset = dataset_of({sample_of(8, 10), sample_of(16, 30), sample_of(32, 12)});
  doubt_rows(dataset);
  const FamilyTable table = tabulate(find_family("gemm_fp8_block"), dataset);
  ASSERT_EQ(table.rows.size(), 3u);
  RowChoice choice;
  choice.with_held_out = true;
  EXPECT_THAT(training_rows(table, choice), testing::ElementsAre(0u, 2u));
  EXPECT_EQ(rows_of_gpus(table, {"h100-sxm"}).size(), 3u);
}

}  // namespace
}  // namespace foretoken::doubted_rows_test
