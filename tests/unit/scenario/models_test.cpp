// Several models in one scenario: who serves which, and what is told of mistakes.

#include <gmock/gmock.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::models_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* classes =
    "classes = [{ model = \"llama-3.1-8b\", share = 3 }, { model = \"llama-3.1-70b\", share = 1 "
    "}]\n";
constexpr const char* pools =
    "[pool.small]\nrole = \"both\"\nreplicas = 2\n"
    "[pool.large]\nrole = \"both\"\ntensor_parallel = 4\n"
    "[pool.large.model]\nname = \"llama-3.1-70b\"\ndtype = \"fp8\"\n";
const std::string several = std::string(minimal) + classes + pools;

TEST(Models, APoolMayHaveItsOwnInPlaceOfTheCommonOne) {
  const Scenario scenario = read(several);
  ASSERT_EQ(scenario.pools.size(), 2U);
  EXPECT_EQ(scenario.pools[0].scenario.model.name, "llama-3.1-8b");
  EXPECT_EQ(scenario.pools[0].model, 0);
  EXPECT_EQ(scenario.pools[1].scenario.model.name, "llama-3.1-70b");
  EXPECT_EQ(scenario.pools[1].scenario.execution.dtype, DType::fp8);
  EXPECT_EQ(scenario.pools[1].model, 1);
  EXPECT_THAT(served_models(scenario), ElementsAre("llama-3.1-8b", "llama-3.1-70b"));
  const Scenario again = read(to_toml(resolved_scenario(scenario)));
  EXPECT_EQ(again.pools[1].scenario.model_name, "llama-3.1-70b");
  EXPECT_EQ(again.pools[1].scenario.execution.dtype, DType::fp8);
  EXPECT_EQ(again.pools[0].scenario.execution.dtype, DType::bf16);
  EXPECT_EQ(to_toml(resolved_scenario(again)), to_toml(resolved_scenario(scenario)));
}

TEST(Models, MistakesAreTold) {
  EXPECT_THAT(error_of(std::string(minimal) + pools),
              HasSubstr("the pools serve several models (llama-3.1-8b, llama-3.1-70b); name the "
                        "model of each of [[workload.classes]]"));
  EXPECT_THAT(
      error_of(std::string(minimal) + "classes = [{ model = \"llama-3.1-7b\", share = 1 }]\n"),
      HasSubstr("workload.classes.model: no pool serves it: unknown model 'llama-3.1-7b'; did you "
                "mean 'llama-3.1-8b'?"));
  EXPECT_THAT(error_of(std::string(minimal) +
                       "classes = [{ model = \"llama-3.1-8b\", share = 1 }]\n" + pools),
              HasSubstr("pool.large: no request asks for llama-3.1-70b; remove the pool, or give "
                        "[[workload.classes]] a class that does"));
  EXPECT_THAT(error_of(several, {"pool.large.role=prefill"}),
              HasSubstr("pool roles: no pool decodes what the others prefill"));
  EXPECT_THAT(error_of(std::string(minimal) +
                       "classes = [{ model = \"llama-3.1-8b\", share = 1 }, { share = 1 }]\n"),
              HasSubstr("workload.classes.model: is given for some classes only"));
}

TEST(Models, OneAloneLeavesTheOthersOut) {
  const Scenario scenario = read(several, {"run.only_model=llama-3.1-70b"});
  ASSERT_EQ(scenario.pools.size(), 1U);
  EXPECT_EQ(scenario.pools[0].name, "large");
  EXPECT_EQ(scenario.pools[0].model, 0);
  EXPECT_EQ(scenario.model.name, "llama-3.1-70b");
  EXPECT_TRUE(scenario.workload->models().empty());
  EXPECT_DOUBLE_EQ(scenario.workload->share(), 0.25);
  const auto all = read(several).workload->start(RandomStreams(1));
  const auto its = scenario.workload->start(RandomStreams(1));
  for (std::uint32_t id = 0; const auto request = its->next(); ++id) {
    auto other = all->next();
    while (other && other->model != 1) other = all->next();
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(request->id.value, id);
    EXPECT_EQ(request->model, 0);
    EXPECT_EQ(request->arrival, other->arrival);
    EXPECT_EQ(request->prompt_tokens, other->prompt_tokens);
  }
  const Scenario again = read(to_toml(resolved_scenario(scenario)));
  EXPECT_EQ(to_toml(resolved_scenario(again)), to_toml(resolved_scenario(scenario)));
}

TEST(Models, OneAloneHasItsGpusToItself) {
  const std::string autoscaler =
      "autoscaler = { min = 1, max = 4, metric = \"outstanding\", target = 2.0 }\n";
  const std::string sharing = std::string(minimal) + classes + "[pool.small]\nrole = \"both\"\n" +
                              autoscaler +
                              "[pool.large]\nrole = \"both\"\nshares_gpus_with = \"small\"\n" +
                              autoscaler + "[pool.large.model]\nname = \"llama-3.1-70b\"\n";
  EXPECT_EQ(read(sharing).pools[1].scenario.deployment.shares_gpus_with, "small");
  const Scenario alone = read(sharing, {"run.only_model=llama-3.1-70b"});
  EXPECT_EQ(alone.pools[0].scenario.deployment.shares_gpus_with, "");
}

TEST(Models, OneAloneHasToBeServedAndAskedFor) {
  EXPECT_THAT(error_of(several, {"run.only_model=llama-3.1-8"}),
              HasSubstr("run.only_model: no pool serves it: unknown model 'llama-3.1-8'; did you "
                        "mean 'llama-3.1-8b'?"));
  EXPECT_THAT(error_of(std::string(minimal) + pools, {"run.only_model=llama-3.1-70b"}),
              HasSubstr("run.only_model: no request asks for llama-3.1-70b; give "
                        "[[workload.classes]] a class that does"));
  EXPECT_EQ(read(minimal, {"run.only_model=llama-3.1-8b"}).workload->share(), 1.0);
}

}  // namespace
}  // namespace foretoken::models_test
