// Adapting to a GPU from a few launches, where the difference is known.
#include "calibration/fit/adapt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <set>

#include "calibration/fit/informative_rows.hpp"
#include "calibration/fit/linear.hpp"
#include "calibration/selection/launch_choice.hpp"
#include "sim/base/random.hpp"

namespace foretoken::adapt_test {
namespace {

/// A table of one GPU with two features in [-1, 1); T is 1 us and log(time / T) is `ratio(a, b)`.
template <class Ratio>
FamilyTable table_of(int rows, Ratio ratio) {
  FamilyTable table;
  table.family = estimator_families().front();
  table.features = 2;
  table.gpus = {"a100-sxm"};
  table.specs = {load_gpu("a100-sxm", {})};
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

/// Networks that expect the same and whose state knows the first feature alone.
Artifact half_blind_artifact() {
  Artifact artifact = flat_artifact();
  artifact.ensemble = Ensemble({{"a", 0, 1, -1, 1}, {"b", 0, 1, -1, 1}},
                               {Network({{2, 1, {1, 0}, {2}}, {1, 1, {0}, {0}}})});
  return artifact;
}

/// Networks of Hopper alone that expect log(time / T) = 0.4 everywhere: half of it on an A100.
Artifact other_generation_artifact() {
  Artifact artifact = flat_artifact();
  artifact.ensemble = Ensemble({{"a", 0, 1, -1, 1}, {"b", 0, 1, -1, 1}},
                               {Network({NetworkLayer{2, 1, {0, 0}, {0.4F}}})});
  artifact.generations = {90};
  return artifact;
}

Rows first_rows(std::size_t begin, std::size_t end) {
  Rows rows;
  for (std::size_t row = begin; row < end; ++row) rows.push_back(row);
  return rows;
}

TEST(Adapt, CorrectsByOffsetAndNearness) {
  FamilyAdaptation adaptation;
  adaptation.offset = 0.1;
  adaptation.states = {2, 2, {0, 0, 6, 0}, {0.2, -0.4}};
  adaptation.inputs = {1, 1, {1}, {0.3}};
  // At (0, 2): 4 / (2 x 2^2) = 1/2 from the first launch, (36 + 4) / 8 = 5 from the second;
  // the input 3 is 2 from the first launch's.
  const float state[] = {0, 2}, input[] = {3};
  EXPECT_NEAR(adaptation.correction(state, input),
              0.1 + 0.2 * std::exp(-0.5) - 0.4 * std::exp(-5.0) + 0.3 * std::exp(-2.0), 1e-12);
}

/// Mean error of rows 50 and on, after adapting to the first 50.
double error_after(const FamilyTable& table, const Artifact& artifact = flat_artifact()) {
  const FamilyAdaptation adaptation = fit_adaptation(table, first_rows(0, 50), artifact);
  ScoreBoard board;
  for (const std::size_t row : first_rows(50, table.rows.size())) {
    board.add(adapted_time(table, row, artifact, adaptation), table.rows[row].measured);
  }
  return board.score().mape;
}

TEST(Adapt, LearnsAConstantFactor) {
  const FamilyTable table = table_of(80, [](double, double) { return std::log(1.2); });
  EXPECT_LT(error_after(table), 0.002);
  const FamilyAdaptation few = fit_adaptation(table, first_rows(0, 5), flat_artifact());
  EXPECT_NEAR(few.error_before, 1 - 1 / 1.2, 1e-9);
  EXPECT_LT(few.error, 0.02);
}

TEST(Adapt, LearnsWhereTheDifferenceLies) {
  // 20 % slower at one end of the first feature, 20 % faster at the other.
  const FamilyTable table = table_of(300, [](double a, double) { return 0.2 * a; });
  EXPECT_NEAR(score_rows(table, first_rows(50, 300), flat_artifact()).mape, 0.1, 0.02);
  EXPECT_LT(error_after(table), 0.01);
}

TEST(Adapt, LearnsWhatTheNetworksDoNotTellApart) {
  const FamilyTable table = table_of(300, [](double, double b) { return 0.2 * b; });
  EXPECT_LT(error_after(table, half_blind_artifact()), 0.01);  // 0.1 without adaptation
}

TEST(Adapt, IsNotThrownOffByAnOutlier) {
  int row = 0;
  const FamilyTable table = table_of(300, [&row](double a, double) {
    return row++ == 20 ? 2.0 : 0.2 * a;  // one of the launches took seven times as long
  });
  EXPECT_LT(error_after(table), 0.06);
}

TEST(Adapt, DoesNotLearnNoise) {
  // Alternating +10 % and -10 % at random places: nothing there but the mean of 0.
  int row = 0;
  const FamilyTable table =
      table_of(250, [&row](double, double) { return row++ % 2 == 0 ? 0.1 : -0.1; });
  EXPECT_LT(error_after(table), 0.105);  // 0.1 without any adaptation
}

TEST(Adapt, ChangesNothingWhereTheNetworksAreRight) {
  const FamilyTable table = table_of(60, [](double, double) { return 0.0; });
  const FamilyAdaptation adaptation = fit_adaptation(table, first_rows(0, 50), flat_artifact());
  EXPECT_FALSE(adaptation.corrects());
  EXPECT_EQ(adapted_time(table, 55, flat_artifact(), adaptation),
            predicted_time(table, 55, flat_artifact()));
}

TEST(Adapt, CorrectsWhatIsSaidWithoutAdaptation) {
  const Artifact artifact = other_generation_artifact();
  const FamilyTable right = table_of(60, [](double, double) { return 0.08; });
  EXPECT_NEAR(predicted_time(right, 55, artifact), 1e-6 * std::exp(0.08), 1e-12);
  EXPECT_NEAR(fit_adaptation(right, first_rows(0, 50), artifact).error_before, 0, 1e-6);
  const FamilyTable slower = table_of(60, [](double, double) { return 0.5; });
  const FamilyAdaptation adaptation = fit_adaptation(slower, first_rows(0, 50), artifact);
  EXPECT_NEAR(adaptation.error_before, 1 - std::exp(0.08 - 0.5), 1e-6);
  EXPECT_NEAR(adapted_time(slower, 55, artifact, adaptation), 1e-6 * std::exp(0.5), 2e-9);
}

TEST(Adapt, IsReadBackAsWritten) {
  const FamilyTable table = table_of(30, [](double a, double b) { return 0.1 + 0.1 * a * b; });
  const Artifact artifact = flat_artifact();
  const FamilyAdaptation family = fit_adaptation(table, first_rows(0, 30), artifact);
  const Adaptation read = read_adaptation(write_adaptation({"a100-sxm", {family}}), "a.json");
  EXPECT_EQ(read.gpu, "a100-sxm");
  EXPECT_EQ(read.find("gemm_fp8"), nullptr);
  const FamilyAdaptation* found = read.find("gemm_16bit");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->version, 3);
  EXPECT_EQ(found->networks, artifact.ensemble.fingerprint());
  const float point[] = {0.5F, -0.25F};  // these networks make nothing of their inputs
  EXPECT_NEAR(found->correction(point, point), family.correction(point, point), 1e-3);
}

/// One launch.
const Nearness one = {1, 1, {0.5F}, {0.25}};

std::string message_of(const std::string& text) {
  try {
    read_adaptation(text, "new.adaptation.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Adapt, SaysWhatIsWrongWithAFile) {
  using testing::HasSubstr;
  EXPECT_THAT(message_of("{"), HasSubstr("new.adaptation.json"));
  EXPECT_THAT(message_of(R"({"format": "foretoken adaptation 1", "gpu": "x", "families": []})"),
              HasSubstr("must be 'foretoken adaptation 4'; write it again with this version: "
                        "foretoken-calibrate adapt"));
  EXPECT_THAT(message_of(R"({"format": "foretoken adaptation 4", "gpu": "x", "families": []})"),
              HasSubstr("'checksum' is missing"));
  EXPECT_THAT(message_of(write_adaptation({"x", {}})), HasSubstr("must hold at least one family"));
  FamilyAdaptation family{"norm", 1, 1, -1000, one, one, 0.1, 0.2};
  EXPECT_THAT(message_of(write_adaptation({"x", {family}})), HasSubstr("offset: must be within 7"));
}

TEST(Adapt, ADamagedFileIsRefused) {
  const std::string whole = write_adaptation({"x", {{"norm", 1, 1, 0.3, one, one, 0.1, 0.2}}});
  ASSERT_EQ(message_of(whole), "");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1);
    // Between the members any blank is as good as another.
    if (std::isspace(static_cast<unsigned char>(whole[at])) != 0) continue;
    EXPECT_NE(message_of(text), "") << "byte " << at << ": " << text;
  }
}

TEST(InformativeRows, CoverWhatTheNetworksSeeAndNeverLookAtTimes) {
  // 400 rows in the square; four rows that are chosen leave no quarter of it without one.
  FamilyTable table = table_of(400, [](double a, double) { return a; });
  const Rows all = first_rows(0, 400);
  const Rows chosen = informative_rows(table, all, flat_artifact(), 8);
  ASSERT_EQ(chosen.size(), 8u);
  std::set<std::pair<bool, bool>> quarters;
  for (const std::size_t row : chosen) {
    quarters.emplace(table.input(row)[0] > 0, table.input(row)[1] > 0);
  }
  EXPECT_EQ(quarters.size(), 4u);
  for (FamilyRow& row : table.rows) row.log_ratio = -row.log_ratio;
  EXPECT_EQ(informative_rows(table, all, flat_artifact(), 8), chosen);
  const Rows fewer = informative_rows(table, all, flat_artifact(), 3);
  EXPECT_TRUE(std::ranges::equal(fewer, std::span(chosen).first(3)));  // best first
}

TEST(LaunchChoice, TakesAllWhereThereAreFew) {
  EXPECT_EQ(choose_launches({{0}, {1}}, 5).size(), 2u);
  EXPECT_TRUE(choose_launches({}, 5).empty());
  EXPECT_EQ(choose_launches({{1}, {1}, {1}}, 2).size(), 2u);  // all alike
}

TEST(LaunchChoice, StartsInTheMiddleOfTheCrowd) {
  // 2 stands nearest to all others; 9 is alone.
  EXPECT_EQ(choose_launches({{0}, {1}, {2}, {3}, {4}, {9}}, 1), std::vector<std::size_t>{2});
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
}  // namespace foretoken::adapt_test
