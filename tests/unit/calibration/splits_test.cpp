// What is left out, what is held out, and how rows are chosen and scored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "calibration/datasets/exclusions.hpp"
#include "calibration/evaluate/report.hpp"
#include "calibration/evaluate/split.hpp"

namespace foretoken::splits_test {
namespace {

Sample sample_of(Kernel kernel, const std::string& gpu, double us, const std::string& source) {
  return {std::move(kernel), gpu, Seconds(us * 1e-6), source, "aiconfigurator", ""};
}

bool is_excluded(const Sample& sample) {
  return exclusion_reason(sample, load_gpu(sample.gpu, {"test"})).has_value();
}

TEST(Exclusions, LeaveOutHostBoundBlockScaledProducts) {
  Gemm gemm{64, 4096, 4096, DType::fp8_block, {Framework::vllm}};
  EXPECT_TRUE(is_excluded(sample_of(gemm, "h100-sxm", 80, "DeepGemmFp8BlockScaledMMKernel")));
  gemm.implementation.framework = Framework::sglang;
  EXPECT_FALSE(is_excluded(sample_of(gemm, "h100-sxm", 8, "sglang_deepgemm_gemm_nt_f8f8bf16")));
}

TEST(Exclusions, LeaveOutTheUntunedExpertPathOnHopperOnly) {
  const FusedMoe moe{64, 8, 2, 4096, 14336, DType::fp8};
  const std::string source = "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts";
  EXPECT_TRUE(is_excluded(sample_of(moe, "h200-sxm", 100, source)));
  EXPECT_FALSE(is_excluded(sample_of(moe, "b200-sxm", 100, source)));
}

TEST(Exclusions, LeaveOutWhatIsFasterThanTheCardOnH100) {
  // 8192^3 in bf16: 2 x 8192^3 = 1.0995e12 flop at 989.4e12 flop/s take 1111.3 us at full rate, so
  // 1150 us are 96.6 % of it.
  const Gemm gemm{8192, 8192, 8192, DType::bf16};
  EXPECT_TRUE(is_excluded(sample_of(gemm, "h100-sxm", 1150, "torch.nn.functional.linear")));
  EXPECT_FALSE(is_excluded(sample_of(gemm, "h100-sxm", 1300, "torch.nn.functional.linear")));
}

TEST(Split, HoldsOutTheSameLayoutsForever) {
  // Artifacts were trained without these: a change of the hash would let them be judged on what
  // they have seen.
  EXPECT_TRUE(is_held_out_layout("n768 k3584"));
  EXPECT_FALSE(is_held_out_layout("n512 k4096"));
  EXPECT_TRUE(is_held_out_layout("q96 kv4 d128"));
  EXPECT_FALSE(is_held_out_layout("q96 kv2 d128"));
}

TEST(Split, HoldsOutAboutFifteenPercent) {
  int held_out = 0;
  for (int n = 1; n <= 100; ++n) {
    for (int k = 1; k <= 100; ++k) {
      held_out += is_held_out_layout(fmt::format("n{} k{}", 64 * n, 64 * k)) ? 1 : 0;
    }
  }
  EXPECT_NEAR(held_out / 10'000.0, 0.15, 0.02);
}

/// Two GPUs, two sources, ten layouts of ten rows each; one feature, the row's number.
FamilyTable small_table() {
  FamilyTable table;
  table.family = estimator_families().front();
  table.features = 1;
  table.gpus = {"a100-sxm", "h100-sxm"};
  table.sources = {"one", "two"};
  for (int row = 0; row < 100; ++row) {
    FamilyRow data;
    data.gpu = row % 2;
    data.source = row % 4 / 2;
    data.layout = static_cast<std::uint64_t>(row / 10);
    data.is_held_out = data.layout == 3;
    data.measured = 1e-6 * (row + 1);
    data.first_order = 1e-6;
    table.rows.push_back(data);
    table.inputs.push_back(static_cast<float>(row));
  }
  return table;
}

TEST(Split, KeepsTrainingAndJudgedRowsApart) {
  const FamilyTable table = small_table();
  const Rows training = training_rows(table, {});
  const Rows judged = held_out_rows(table);
  EXPECT_EQ(training.size(), 90u);
  EXPECT_EQ(judged.size(), 10u);
  for (const std::size_t row : judged) {
    EXPECT_EQ(std::ranges::find(training, row), training.end()) << row;
  }
}

TEST(Split, LeavesGpusOut) {
  const FamilyTable table = small_table();
  RowChoice choice;
  choice.without_gpus = {"h100-sxm"};
  for (const std::size_t row : training_rows(table, choice)) EXPECT_EQ(table.rows[row].gpu, 0);
  const auto folds = folds_of(table, Split::gpu);
  ASSERT_EQ(folds.size(), 2u);  // GPUs without rows are no fold
  EXPECT_EQ(folds[0].name, "a100-sxm left out");
  EXPECT_EQ(folds[0].judged.size(), 50u);
  EXPECT_THAT(folds_of(table, Split::hopper)[0].training.without_gpus,
              testing::ElementsAre("h100-sxm", "h200-sxm"));
}

// Its rows hold more than the kernel, which is why the recipe leaves it out.
TEST(Split, GpuThatIsNeverLearnedFromJudgesNothing) {
  RowChoice learned;
  learned.without_gpus = {"h100-sxm"};
  const auto folds = folds_of(small_table(), Split::gpu, learned);
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_EQ(folds[0].name, "a100-sxm left out");
}

TEST(Split, CapsEachGpuAndSource) {
  const FamilyTable table = small_table();
  RowChoice choice;
  choice.rows_max_per_group = 7;
  const Rows rows = training_rows(table, choice);
  EXPECT_EQ(rows.size(), 4u * 7u);
  EXPECT_EQ(std::set<std::size_t>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_EQ(training_rows(table, choice), rows);
}

// Layouts 0 to 4 are our own, 5 to 9 others'.
FamilyTable table_with_own_rows() {
  FamilyTable table = small_table();
  for (FamilyRow& row : table.rows) row.is_own = row.layout < 5;
  return table;
}

TEST(Split, LearnsFromTheDataThatIsWanted) {
  const FamilyTable table = table_with_own_rows();
  RowChoice others;
  others.with_own = false;
  EXPECT_EQ(training_rows(table, others).size(), 50u);
  EXPECT_EQ(wanted(table, others).rows.size(), 50u);
  RowChoice own;
  own.with_public = false;
  EXPECT_EQ(training_rows(table, own).size(), 40u);  // layout 3 is held out
}

TEST(Split, OwnLaunchesJudgeApart) {
  const FamilyTable table = table_with_own_rows();
  RowChoice others;
  others.with_own = false;
  // Learned from: only the layout held out. Not learned from: all 50 rows.
  EXPECT_EQ(folds_of(table, Split::own, {})[0].judged.size(), 10u);
  EXPECT_EQ(folds_of(table, Split::own, others)[0].judged.size(), 50u);
  // The other splits then judge by others' rows alone: layout 3 is none of them.
  EXPECT_EQ(folds_of(table, Split::seen, {})[0].judged.size(), 10u);
  EXPECT_TRUE(folds_of(table, Split::seen, others).empty());
}

TEST(Split, ThinsEvenly) {
  EXPECT_EQ(thinned({5, 6, 7, 8, 9, 10}, 3), (Rows{5, 7, 9}));
  EXPECT_EQ(thinned({5, 6}, 3), (Rows{5, 6}));
}

TEST(Score, IsWhatItSays) {
  ScoreBoard board;
  // Errors +10 %, -20 %, +30 %, 0 %: mean size 15 %, nearest-rank median of {0, 10, 20, 30} is the
  // second, p90 the fourth, bias (10 - 20 + 30) / 4 = 5 %.
  board.add(1.1, 1.0);
  board.add(0.8, 1.0);
  board.add(2.6, 2.0);
  board.add(3.0, 3.0);
  const Score score = board.score();
  EXPECT_EQ(score.rows, 4u);
  EXPECT_NEAR(score.mape, 0.15, 1e-12);
  EXPECT_NEAR(score.median, 0.10, 1e-12);
  EXPECT_NEAR(score.p90, 0.30, 1e-12);
  EXPECT_NEAR(score.bias, 0.05, 1e-12);
}

TEST(Report, SumsUpByGpuAndFamily) {
  EvaluationReport report;
  report.add({"gemm", "seen", "a", "s1"}, "synperf", 1.1, 1.0);
  report.add({"gemm", "seen", "a", "s2"}, "synperf", 1.3, 1.0);
  report.add({"gemm", "seen", "b", "s1"}, "synperf", 0.9, 1.0);
  EXPECT_EQ(report.text(),
            "family  split  GPU  source  rows  synperf %  median   p90   bias\n"
            "gemm    all    all  all        3       16.7    10.0  30.0   10.0\n"
            "gemm    seen   a    all        2       20.0    10.0  30.0   20.0\n"
            "gemm    seen   all  all        3       16.7    10.0  30.0   10.0\n"
            "gemm    seen   b    all        1       10.0    10.0  10.0  -10.0\n");
  EXPECT_EQ(report.text({.is_brief = true}),
            "family  split  GPU  source  rows  synperf %  median   p90  bias\n"
            "gemm    all    all  all        3       16.7    10.0  30.0  10.0\n");
}

TEST(Report, SaysWhoHasTheLowestError) {
  EvaluationReport report;
  for (const auto& [predictor, predicted] : {std::pair("synperf", 1.1), std::pair("linear", 1.2)}) {
    report.add({"gemm", "seen", "a", "s"}, predictor, predicted, 1.0);
    report.add({"rope", "seen", "a", "s"}, predictor, 2.3 - predicted, 1.0);
  }
  EXPECT_EQ(report.verdict(),
            "synperf has the lowest error in 1 of 2 families; in rope linear has 10.0 against "
            "20.0 %\n");
}

// Every row that the data's README calls unusable, counted before and looked for afterwards.
TEST(ForetokenData, LeavesOutWhatIsUnusable) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  std::int64_t host_bound = 0, untuned = 0, others = 0;
  const auto is_host_bound = [](const Sample& sample) {
    const auto* gemm = std::get_if<Gemm>(&sample.kernel);
    return gemm != nullptr && gemm->dtype == DType::fp8_block &&
           gemm->implementation.framework == Framework::vllm;
  };
  const auto is_untuned = [](const Sample& sample) {
    return (sample.gpu == "h100-sxm" || sample.gpu == "h200-sxm") &&
           sample.source_name.find("modeloptfp8") != std::string::npos &&
           sample.source_name.find("cutlass") != std::string::npos;
  };
  const auto is_others = [](const Sample& sample) {
    const auto* gemm = std::get_if<Gemm>(&sample.kernel);
    if (gemm == nullptr) return sample.source_name == "moe_torch_flow_min_latency";
    return gemm->implementation.framework == Framework::trtllm &&
           bytes_per_element(gemm->dtype) == 2;
  };
  const Dataset dataset = load_foretoken_data(folder, [&](const Sample& sample) {
    host_bound += is_host_bound(sample) ? 1 : 0;
    untuned += is_untuned(sample) ? 1 : 0;
    others += is_others(sample) ? 1 : 0;
    return std::holds_alternative<Gemm>(sample.kernel) ||
           std::holds_alternative<FusedMoe>(sample.kernel);
  });
  EXPECT_GT(host_bound, 1'000);
  EXPECT_GT(untuned, 1'000);
  EXPECT_GT(others, 1'000);  // TensorRT-LLM's that other frameworks' tables have
  // And the one H100 product above the tensor peak.
  EXPECT_EQ(dataset.rows_left_out, host_bound + untuned + others + 1);
  EXPECT_EQ(std::ranges::count_if(dataset.samples, is_host_bound), 0);
  EXPECT_EQ(std::ranges::count_if(dataset.samples, is_untuned), 0);
}

TEST(ForetokenData, LoadsWhole) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  std::map<std::string, std::int64_t> by_origin;
  const Dataset dataset = load_foretoken_data(folder, [&](const Sample& sample) {
    ++by_origin[sample.origin];
    return sample.gpu == "a100-sxm";
  });
  EXPECT_EQ(by_origin["flashinfer_h200"], 3942);
  EXPECT_GT(by_origin["aiconfigurator"], 1'000'000);
  EXPECT_GT(dataset.samples.size(), 70'000u);
}

}  // namespace
}  // namespace foretoken::splits_test
