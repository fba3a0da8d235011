// Networks against forward passes by hand, and the artifact format.
#include "kernels/networks/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/estimators/trained_families.hpp"
#include "kernels/networks/artifact.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Two inputs, two hidden units, one output:
///   h1 = relu(1 x1 + 2 x2 + 0.5), h2 = relu(-1 x1 + 1 x2 - 1), y = 3 h1 - 2 h2 + 0.25
Network small_network() {
  NetworkLayer hidden{2, 2, {1, -1, 2, 1}, {0.5, -1}};  // column-major: the weights of x1 first
  NetworkLayer output{2, 1, {3, -2}, {0.25}};
  return Network({hidden, output});
}

TEST(Network, RunsAsByHand) {
  const Network network = small_network();
  // x = (1, 3): h1 = 1 + 6 + 0.5 = 7.5, h2 = -1 + 3 - 1 = 1, y = 22.5 - 2 + 0.25 = 20.75.
  EXPECT_FLOAT_EQ(network.run(std::vector<float>{1, 3}), 20.75F);
  // x = (2, -2): h1 = relu(-1.5) = 0, h2 = relu(-5) = 0, y = 0.25.
  EXPECT_FLOAT_EQ(network.run(std::vector<float>{2, -2}), 0.25F);
}

TEST(Network, RefusesLayersThatDoNotFit) {
  const NetworkLayer hidden{2, 3, std::vector<float>(6), std::vector<float>(3)};
  const NetworkLayer output{2, 1, {3, -2}, {0.25}};
  EXPECT_THROW(Network({hidden, output}), InternalError);
  EXPECT_THROW(Network({}), InternalError);
  EXPECT_THROW(static_cast<void>(small_network().run(std::vector<float>{1})), InternalError);
}

NetworkLayer random_layer(int inputs, int outputs, std::mt19937& engine) {
  const auto number = [&] { return static_cast<float>(engine() % 2001) / 1000 - 1; };
  NetworkLayer layer{inputs, outputs, {}, {}};
  for (int i = 0; i < inputs * outputs; ++i) layer.weights.push_back(number());
  for (int i = 0; i < outputs; ++i) layer.bias.push_back(number());
  return layer;
}

/// In double precision, sum by sum.
double plain_answer(const Network& network, const std::vector<float>& inputs) {
  std::vector<double> in(inputs.begin(), inputs.end());
  for (std::size_t l = 0; l < network.layers().size(); ++l) {
    const NetworkLayer& layer = network.layers()[l];
    std::vector<double> out(layer.bias.begin(), layer.bias.end());
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (std::size_t o = 0; o < out.size(); ++o)
        out[o] += layer.weights[i * out.size() + o] * in[i];
    }
    if (l + 1 < network.layers().size()) {
      for (double& value : out) value = std::max(value, 0.0);
    }
    in = out;
  }
  return in[0];
}

// Of any width, with and without a rest beside the vectors: the same bits on vectors of any width.
TEST(Network, AnswersTheSameBitsOnVectorsOfAnyWidth) {
  std::mt19937 engine(11);
  for (const int width : {1, 3, 4, 15, 16, 17, 31, 64, 80, 97, 128, 150}) {
    const Network network({random_layer(width, width, engine), random_layer(width, 40, engine),
                           random_layer(40, width, engine), random_layer(width, 1, engine)});
    std::vector<float> inputs(static_cast<std::size_t>(width));
    for (float& input : inputs) input = static_cast<float>(engine() % 7) - 3;
    std::vector<float> narrow_state(inputs.size()), wide_state(inputs.size());
    const float narrow = network.run(inputs, narrow_state, Lanes::narrow);
    EXPECT_EQ(network.run(inputs, wide_state, widest_lanes()), narrow) << width;
    EXPECT_EQ(wide_state, narrow_state) << width;
    EXPECT_NEAR(narrow / plain_answer(network, inputs), 1.0, 1e-4) << width;
  }
}

Ensemble small_ensemble() {
  Network shifted({NetworkLayer{2, 1, {0, 0}, {20.25}}});
  return {{{"a", 10, 2, 0, 14}, {"b", 0, 1, -3, 3}}, {small_network(), shifted}};
}

TEST(Ensemble, ScalesAveragesAndSpreads) {
  // (12, 3) is ((12 - 10) / 2, 3) = (1, 3) after scaling: answers 20.75 and 20.25, so the mean is
  // 20.5 and each is 0.25 away from it.
  const auto answer = small_ensemble().run(std::vector<float>{12, 3});
  EXPECT_NEAR(answer.mean, 20.5, 1e-5);
  EXPECT_NEAR(answer.spread, 0.25, 1e-4);
  EXPECT_EQ(answer.clamped, 0);
}

TEST(Ensemble, AnswersBeyondTheDataAsAtItsEdge) {
  const auto edge = small_ensemble().run(std::vector<float>{14, 3});
  const auto beyond = small_ensemble().run(std::vector<float>{1e9F, 3.5F});
  EXPECT_EQ(beyond.mean, edge.mean);
  EXPECT_EQ(beyond.clamped, 2);
}

Artifact small_artifact() {
  return {"gemm_16bit",
          3,
          Value(ValueObject{{"seed", 1}}),
          {"h100-sxm"},
          0.05,
          0.15,
          {{"h100-sxm", 0.04}},
          small_ensemble(),
          Head::log_ratio,
          {90}};
}

TEST(NetworkShare, AFifthOnGenerationsThatFewRowsCameFrom) {
  Artifact artifact = small_artifact();
  const auto share = [&](const char* gpu) { return artifact.network_share(load_gpu(gpu, {})); };
  EXPECT_EQ(share("h100-sxm"), 1);
  EXPECT_EQ(share("h20"), 1);  // 9.0 too
  EXPECT_EQ(share("l40s"), 0.2);
  // 10.0 and 10.3 are one generation, 12.0 is another; 8.0 and 8.6 are two.
  artifact.generations = {100, 80};
  EXPECT_EQ(share("b300-sxm"), 1);
  EXPECT_EQ(share("rtx-pro-6000-server"), 0.2);
  EXPECT_EQ(share("rtx-a6000"), 0.2);
}

TEST(NetworkShare, GenerationsNeedATwentiethOfTheRows) {
  const Value rows(ValueObject{{"h100-sxm: vllm a", 5000},
                               {"h200-sxm: vllm a", 4500},
                               {"rtx-4090: vllm a", 499},
                               {"my-gpu: vllm a", 900}});
  const std::vector<std::string> gpus = {"h100-sxm", "h200-sxm", "my-gpu", "rtx-4090"};
  EXPECT_EQ(trained_generations(gpus, Value(ValueObject{{"rows_by_source", rows}})),
            std::vector{90});
  EXPECT_EQ(trained_generations(gpus, Value()), (std::vector{89, 90}));  // rows are not known
}

TEST(ArtifactFormat, ReadsBackWhatItWrote) {
  const Artifact read = read_artifact(write_artifact(small_artifact()), "small.json");
  EXPECT_EQ(read.family, "gemm_16bit");
  EXPECT_EQ(read.version, 3);
  EXPECT_THAT(read.gpus, testing::ElementsAre("h100-sxm"));
  EXPECT_DOUBLE_EQ(read.error_seen, 0.05);
  EXPECT_DOUBLE_EQ(read.error_unseen_gpu, 0.15);
  EXPECT_DOUBLE_EQ(read.error_by_gpu.at("h100-sxm"), 0.04);
  // All of the small network's numbers are exact in half precision.
  const std::vector<float> input = {12, 3};
  EXPECT_EQ(read.ensemble.run(input).mean, small_ensemble().run(input).mean);
  EXPECT_EQ(read.ensemble.features()[1].name, "b");
}

TEST(ArtifactFormat, KeepsWhatACeilingIs) {
  Artifact ceiling = small_artifact();
  ceiling.quantile = 0.8;
  ceiling.coverage = {{"all", 0.79}, {"h100-sxm", 1.0}};
  const Artifact read = read_artifact(write_artifact(ceiling), "small.json");
  EXPECT_DOUBLE_EQ(read.quantile, 0.8);
  EXPECT_EQ(read.coverage, ceiling.coverage);
  EXPECT_EQ(read_artifact(write_artifact(small_artifact()), "small.json").quantile, 0);
}

TEST(ArtifactFormat, RoundsWeightsToHalfPrecision) {
  Artifact artifact = small_artifact();
  const float third = 1.0F / 3;
  artifact.ensemble = Ensemble({{"a", 0, 1, -9, 9}}, {Network({NetworkLayer{1, 1, {third}, {0}}})});
  const Artifact read = read_artifact(write_artifact(artifact), "small.json");
  EXPECT_EQ(read.ensemble.networks()[0].layers()[0].weights[0], 0x1.554p-2F);  // nearest half
}

TEST(ArtifactFormat, RefusesDamage) {
  std::string text = write_artifact(small_artifact());
  const auto expect_error = [](const std::string& damaged, const std::string& message) {
    try {
      read_artifact(damaged, "small.json");
      ADD_FAILURE() << "accepted: " << message;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(message));
    }
  };
  std::string other = text;
  other.replace(other.find("artifact 1"), 10, "artifact 9");
  expect_error(other, "must be 'foretoken artifact 1'; train it again with this version");
  std::string cut = text;
  const std::size_t weights = cut.find("\"weights\": \"") + 12;
  cut.erase(weights, 2);
  expect_error(cut, "weights: must be base64 of 4 half-precision numbers");
  expect_error("[]", "must be a JSON object");
}

TEST(Artifacts, InsideTheProgramFitTheirFamilies) {
  const TrainedFamilies trained;
  for (const EstimatorFamily* family : estimator_families()) {
    // Throws for an artifact of another version; every family must have one.
    EXPECT_NE(trained.find(*family), nullptr) << family->name() << " was not trained";
  }
}

}  // namespace
}  // namespace foretoken
