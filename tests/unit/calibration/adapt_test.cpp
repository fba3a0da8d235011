// Adapting to a GPU from a few launches, where the difference is known.
#include "calibration/fit/adapt.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/linear.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

/// A table of one GPU with two features in [-1, 1); T is 1 us and log(time / T) is `ratio(a, b)`.
template <class Ratio>
FamilyTable table_of(int rows, Ratio ratio) {
  FamilyTable table;
  table.family = estimator_families().front();
  table.features = 2;
  table.gpus = {"a100-sxm"};
  table.sources = {"one"};
  RandomStream stream = RandomStreams(3).stream("rows");
  for (int i = 0; i < rows; ++i) {
    const double a = 2 * uniform(stream) - 1, b = 2 * uniform(stream) - 1;
    FamilyRow row;
    row.first_order = 1e-6;
    row.log_ratio = ratio(a, b);
    row.measured = row.first_order * std::exp(row.log_ratio);
    table.rows.push_back(row);
    table.inputs.push_back(static_cast<float>(a));
    table.inputs.push_back(static_cast<float>(b));
  }
  return table;
}

/// Networks that expect log(time / T) = 0 everywhere.
Artifact flat_artifact() {
  return {"gemm_16bit",
          3,
          Value(),
          {},
          0.05,
          0,
          {},
          Ensemble({{"a", 0, 1, -1, 1}, {"b", 0, 1, -1, 1}},
                   {Network({NetworkLayer{2, 1, {0, 0}, {0}}})})};
}

Rows first_rows(std::size_t begin, std::size_t end) {
  Rows rows;
  for (std::size_t row = begin; row < end; ++row) rows.push_back(row);
  return rows;
}

TEST(Adapt, LearnsAConstantFactorFromTheMedian) {
  const FamilyTable table = table_of(60, [](double, double) { return std::log(1.2); });
  const FamilyAdaptation adaptation = fit_adaptation(table, first_rows(0, 20), flat_artifact());
  EXPECT_NEAR(adaptation.offset, std::log(1.2), 1e-12);
  EXPECT_NEAR(adaptation.error, 0, 1e-12);
  EXPECT_NEAR(adapted_time(table, 40, flat_artifact(), adaptation), 1.2e-6, 1e-15);
}

TEST(Adapt, LearnsWhereTheDifferenceLies) {
  // 20 % slower at one end of the first feature, 20 % faster at the other.
  const FamilyTable table = table_of(300, [](double a, double) { return 0.2 * a; });
  const Artifact artifact = flat_artifact();
  const FamilyAdaptation adaptation = fit_adaptation(table, first_rows(0, 50), artifact);
  ScoreBoard board;
  for (const std::size_t row : first_rows(50, 300)) {
    board.add(adapted_time(table, row, artifact, adaptation), table.rows[row].measured);
  }
  EXPECT_NEAR(score_rows(table, first_rows(50, 300), artifact).mape, 0.1, 0.02);
  EXPECT_LT(board.score().mape, 0.01);
  EXPECT_LT(adaptation.error, 0.02);
}

TEST(Adapt, DoesNotLearnNoise) {
  // Alternating +10 % and -10 % at random places: nothing there but the median's 0.
  int row = 0;
  const FamilyTable table =
      table_of(250, [&row](double, double) { return row++ % 2 == 0 ? 0.1 : -0.1; });
  const Artifact artifact = flat_artifact();
  const FamilyAdaptation adaptation = fit_adaptation(table, first_rows(0, 50), artifact);
  ScoreBoard board;
  for (const std::size_t judged : first_rows(50, 250)) {
    board.add(adapted_time(table, judged, artifact, adaptation), table.rows[judged].measured);
  }
  EXPECT_LT(board.score().mape, 0.12);  // 0.1 without any adaptation
}

TEST(Adapt, IsReadBackAsWritten) {
  const FamilyTable table = table_of(30, [](double a, double b) { return 0.1 * a * b; });
  const FamilyAdaptation family = fit_adaptation(table, first_rows(0, 30), flat_artifact());
  const Adaptation read = read_adaptation(write_adaptation({"a100-sxm", {family}}), "a.json");
  EXPECT_EQ(read.gpu, "a100-sxm");
  ASSERT_NE(read.find("gemm_16bit", 3), nullptr);
  EXPECT_EQ(read.find("gemm_16bit", 4), nullptr);
  const float scaled[] = {0.5F, -0.25F};
  EXPECT_NEAR(read.find("gemm_16bit", 3)->correction(scaled), family.correction(scaled), 1e-3);
}

TEST(FitLinear, FindsTheConstantsThatMadeTheTimes) {
  // time = 3 us + 1.5 math + 1.25 memory on exact data is found whatever the weights of rows.
  FamilyTable table;
  table.family = estimator_families().front();
  table.gpus = {"a100-sxm"};
  const GpuSpec gpu = load_gpu("a100-sxm", {});
  Rows rows;
  for (const std::int64_t m : {1, 64, 512, 4096}) {
    for (const std::int64_t n : {1024, 8192}) {
      const Kernel kernel = Gemm{m, n, 4096, DType::bf16};
      const LinearTerms terms = linear_terms(kernel, gpu);
      FamilyRow row;
      row.measured = 3e-6 + 1.5 * terms.math + 1.25 * terms.memory;
      rows.push_back(table.rows.size());
      table.rows.push_back(row);
      table.kernels.push_back(kernel);
    }
  }
  const LinearModel model = fit_linear(table, rows);
  EXPECT_NEAR(model.intercept, 3e-6, 1e-11);
  EXPECT_NEAR(model.math, 1.5, 1e-6);
  EXPECT_NEAR(model.memory, 1.25, 1e-6);
  const LinearModels read = read_linear_models(write_linear_models({{"gemm", model}}), "l.json");
  EXPECT_NEAR(read.at("gemm").math, 1.5, 1e-5);
}

}  // namespace
}  // namespace foretoken
