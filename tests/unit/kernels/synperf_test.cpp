// The synperf predictor on artifacts made by hand: networks that say the same whatever the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/networks/adaptation.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

class SynPerfTest : public testing::Test {
 protected:
  SynPerfTest() {
    folder_ = own_folder() / "files";
    std::filesystem::create_directories(folder_);
  }
  ~SynPerfTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// An artifact of `family` whose networks answer `answers`, trained on H100 with 4 % error there
  /// and 12 % elsewhere.
  void write_artifact_for(const EstimatorFamily& family, const std::vector<float>& answers,
                          int version_offset = 0) const {
    const auto inputs = static_cast<int>(family.feature_names().size());
    std::vector<FeatureScale> scales;
    for (const std::string& name : family.feature_names())
      scales.push_back({name, 0, 1, -1e9F, 1e9F});
    std::vector<Network> networks;
    for (const float answer : answers) {
      networks.emplace_back(std::vector<NetworkLayer>{
          {inputs, 1, std::vector<float>(static_cast<std::size_t>(inputs)), {answer}}});
    }
    const Artifact artifact{std::string(family.name()),
                            family.version() + version_offset,
                            Value(),
                            {"h100-sxm"},
                            0.04,
                            0.12,
                            {},
                            Ensemble(scales, networks),
                            Head::log_ratio,
                            {90}};
    std::ofstream(folder_ / (std::string(family.name()) + ".json")) << write_artifact(artifact);
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(
      const std::string& fallback = "none",
      const std::optional<std::vector<std::string>>& adaptations = std::nullopt) const {
    Value options(ValueObject{{"artifacts", folder_.string()}, {"fallback", fallback}});
    if (adaptations) {
      ValueArray paths(adaptations->begin(), adaptations->end());
      options.set("adaptations", Value(std::move(paths)));
    }
    Diagnostics diagnostics;
    TableReader table(options, diagnostics, "predictor");
    auto made = predictor_catalog().find("synperf", {}).make(table);
    diagnostics.throw_if_any();
    return made;
  }

  std::filesystem::path folder_;
  const Gemm gemm_{256, 4096, 4096, DType::bf16, {Framework::vllm, KernelSource::cublas}};
  const GpuSpec h100_ = load_gpu("h100-sxm", {});
  const GpuSpec a100_ = load_gpu("a100-sxm", {});
};

TEST_F(SynPerfTest, MultipliesTheFirstOrderTime) {
  const EstimatorFamily& family = *family_of(gemm_, h100_);
  write_artifact_for(family, {std::log(2.0F)});
  const Prediction price = predictor()->predict(gemm_, h100_);
  const double first = family.first_order(gemm_, h100_).time.value();
  EXPECT_NEAR(price.time.value(), 2 * first, 1e-3 * first);  // the weights are half precision
  EXPECT_EQ(price.origin, Origin::learned);
  EXPECT_NEAR(price.expected_error, 0.04, 1e-6);
}

TEST_F(SynPerfTest, AddsWhatColdInputsCost) {
  const EstimatorFamily& family = *family_of(gemm_, h100_);
  write_artifact_for(family, {0});
  Gemm cold = gemm_;
  cold.implementation.is_cold = true;
  const auto made = predictor();
  EXPECT_NEAR((made->predict(cold, h100_).time - made->predict(gemm_, h100_).time).value(),
              family.cold_extra(cold, h100_).value(), 1e-18);  // the difference rounds
}

TEST_F(SynPerfTest, SaysThatAGpuWasNotTrainedOn) {
  write_artifact_for(*family_of(gemm_, a100_), {0});
  const Prediction price = predictor()->predict(gemm_, a100_);
  EXPECT_EQ(price.origin, Origin::transferred);
  EXPECT_NEAR(price.expected_error, 0.12, 1e-6);
}

TEST_F(SynPerfTest, IsLessSureWhereNetworksDisagree) {
  write_artifact_for(*family_of(gemm_, h100_), {-0.03F, 0.03F});
  // Spread 0.03 beside the family's 0.04: sqrt(0.03^2 + 0.04^2) = 0.05.
  EXPECT_NEAR(predictor()->predict(gemm_, h100_).expected_error, 0.05, 1e-5);
}

TEST_F(SynPerfTest, FallsBackOnlyWhereToldTo) {
  try {
    predictor()->predict(gemm_, h100_);
    FAIL() << "priced without an artifact";
  } catch (const PredictionError& error) {
    EXPECT_STREQ(error.what(),
                 "gemm: no trained family covers this kernel on h100-sxm; set fallback = "
                 "\"roofline\" to price it by its roofline");
  }
  EXPECT_EQ(predictor("roofline")->predict(gemm_, h100_).origin, Origin::analytic);
}

TEST_F(SynPerfTest, RefusesArtifactsOfAnotherVersion) {
  write_artifact_for(*family_of(gemm_, h100_), {0}, 1);
  EXPECT_THROW(predictor("roofline")->predict(gemm_, h100_), ConfigError);
}

/// An H100 of the user's own file, with an adaptation beside it: half as slow again, 3 % error.
class AdaptedSynPerfTest : public SynPerfTest {
 protected:
  AdaptedSynPerfTest() {
    write_artifact_for(family_, {0});
    const auto spec = std::filesystem::path(FORETOKEN_SOURCE_DIR) / "hardware/specs/gpus";
    std::filesystem::copy_file(spec / "h100-sxm.toml", folder_ / "my.toml");
    my_gpu_ = load_gpu((folder_ / "my.toml").string(), {});
    const TrainedFamilies trained(folder_.string());
    const Ensemble& networks = trained.find(family_)->ensemble;
    adaptation_.family = family_.name();
    adaptation_.version = family_.version();
    adaptation_.networks = networks.fingerprint();
    adaptation_.offset = std::log(1.5);
    adaptation_.error = 0.03;
    const auto one_launch = [](std::size_t width) {
      return Nearness{1, width, std::vector<float>(width), {0}};
    };
    adaptation_.states = one_launch(networks.state_width());
    adaptation_.inputs = one_launch(networks.features().size());
    path_ = (folder_ / "my.adaptation.json").string();
    write("h100-sxm");
  }

  void write(const std::string& gpu) const {
    std::ofstream(path_) << write_adaptation({gpu, {adaptation_}});
  }

  [[nodiscard]] std::string message() const {
    try {
      predictor()->predict(gemm_, my_gpu_);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const EstimatorFamily& family_ = *family_of(gemm_, h100_);
  GpuSpec my_gpu_;
  FamilyAdaptation adaptation_;
  std::string path_;
};

TEST_F(AdaptedSynPerfTest, FindsTheFileBesideTheGpus) {
  const Prediction price = predictor()->predict(gemm_, my_gpu_);
  const double first = family_.first_order(gemm_, my_gpu_).time.value();
  EXPECT_NEAR(price.time.value(), 1.5 * first, 1e-4 * first);
  EXPECT_EQ(price.origin, Origin::adapted);
  EXPECT_NEAR(price.expected_error, 0.03, 1e-6);
}

TEST_F(AdaptedSynPerfTest, LeavesOtherGpusAlone) {
  const auto made = predictor();
  EXPECT_EQ(made->predict(gemm_, h100_).origin, Origin::learned);  // from inside the program
  EXPECT_EQ(made->predict(gemm_, a100_).origin, Origin::transferred);
}

TEST_F(AdaptedSynPerfTest, TakesTheNamedFilesAndNoOthers) {
  EXPECT_EQ(predictor("none", {{}})->predict(gemm_, my_gpu_).origin, Origin::learned);
  EXPECT_EQ(predictor("none", {{path_}})->predict(gemm_, h100_).origin, Origin::adapted);
  EXPECT_THROW(predictor("none", {{path_ + "x"}}), ConfigError);
}

TEST_F(AdaptedSynPerfTest, RefusesAnotherGpus) {
  write("a100-sxm");
  EXPECT_THAT(message(), testing::HasSubstr("corrects the prices of 'a100-sxm', but is next to " +
                                            my_gpu_.file + ", which describes 'h100-sxm'"));
}

TEST_F(AdaptedSynPerfTest, RefusesOneOfOtherNetworks) {
  write_artifact_for(family_, {0.5F});  // trained again
  EXPECT_THAT(message(),
              testing::HasSubstr(path_ +
                                 ": corrects networks of 'gemm_16bit' other than this program's; "
                                 "adapt again: foretoken-calibrate adapt --gpu " +
                                 my_gpu_.file));
}

TEST_F(SynPerfTest, KnowsNoCollectives) {
  EXPECT_THROW(predictor("roofline")->predict(Collective{}, h100_), PredictionError);
}

TEST_F(SynPerfTest, RefusesAFolderThatIsNotThere) {
  std::filesystem::remove_all(folder_);
  EXPECT_THROW(predictor(), ConfigError);
}

}  // namespace
}  // namespace foretoken
