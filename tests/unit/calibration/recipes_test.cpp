// The recipes that shipped networks are trained by: whole, and readable.
#include "calibration/fit/recipes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken {
namespace {

const std::string shipped = FORETOKEN_SOURCE_DIR "/calibration/train/recipes.toml";

TEST(Recipes, ThereIsOneForEveryFamily) {
  const Recipes recipes(shipped);
  for (const EstimatorFamily* family : estimator_families()) {
    EXPECT_TRUE(recipes.has(family->name())) << family->name();
  }
}

// What an artifact says of itself is its recipe: nobody trained it otherwise.
TEST(Recipes, AreWhatArtifactsWereTrainedBy) {
  const Recipes recipes(shipped);
  int checked = 0;
  for (const EmbeddedFile& file : embedded_artifacts()) {
    const Artifact artifact = read_artifact(file.text, std::string(file.stem));
    const Value* rate = artifact.provenance.find("learning_rate");
    if (rate == nullptr) continue;  // written before provenance had settings
    const FamilyTraining recipe = recipes.find(artifact.family);
    EXPECT_EQ(std::get<double>(rate->data), recipe.network.learning_rate) << file.stem;
    EXPECT_EQ(std::get<bool>(artifact.provenance.find("batch_norm")->data),
              recipe.network.batch_norm)
        << file.stem;
    EXPECT_EQ(std::get<bool>(artifact.provenance.find("own_data")->data), recipe.rows.with_own)
        << file.stem;
    EXPECT_EQ(artifact.ensemble.networks().size(), static_cast<std::size_t>(recipe.network.members))
        << file.stem;
    EXPECT_EQ(std::get<std::int64_t>(artifact.provenance.find("rows_max_per_gpu_and_source")->data),
              static_cast<std::int64_t>(recipe.rows.rows_max_per_group))
        << file.stem;
    ++checked;
  }
  EXPECT_GT(checked, 15);
}

TEST(Recipes, AreTheSameInAnyFolder) {
  const Recipes read(shipped);
  const DataFolder elsewhere;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(elsewhere.path());
  const Recipes built_in;
  std::filesystem::current_path(here);
  for (const EstimatorFamily* family : estimator_families()) {
    ASSERT_TRUE(built_in.has(family->name())) << family->name();
    const FamilyTraining expected = read.find(family->name());
    const FamilyTraining training = built_in.find(family->name());
    EXPECT_EQ(training.network.learning_rate, expected.network.learning_rate) << family->name();
    EXPECT_EQ(training.network.widths, expected.network.widths) << family->name();
    EXPECT_EQ(training.rows.without_gpus, expected.rows.without_gpus) << family->name();
  }
}

TEST(Recipes, BaselinesTakeTheDataOfTheFamily) {
  const Recipes recipes(shipped);
  const FamilyTraining training = recipes.baseline(neusight_recipe, "rms_norm");
  EXPECT_EQ(training.network.head, Head::wave_utilisation);
  EXPECT_FALSE(training.rows.with_own);
  EXPECT_THAT(training.rows.without_gpus, testing::ElementsAre("rtx-4090"));
}

TEST(Recipes, SayWhatIsWrong) {
  const DataFolder folder;
  folder.write("recipes.toml",
               "[gemm_16bit]\nmembers = 0\nlearning_rat = 0.1\n[gemm_17bit]\nrows = 5\n");
  try {
    const Recipes recipes((folder.path() / "recipes.toml").string());
    FAIL() << "accepted a wrong recipe";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("recipes.toml:2:1: gemm_16bit.members: must be "
                                                  "at least 1"),
                               testing::HasSubstr("learning_rate"),
                               testing::HasSubstr(
                                   "'gemm_17bit' is not a table named after an estimator family")));
  }
}

}  // namespace
}  // namespace foretoken
