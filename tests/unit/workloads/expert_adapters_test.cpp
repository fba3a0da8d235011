// Adapters of routed experts: products, memory and how many weights they read, by hand.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::expert_adapters_test {
namespace {

ExecutionSettings with(LoraTargets targets) {
  ExecutionSettings settings;
  settings.routing.kind = Routing::Kind::balanced;
  settings.lora = LoraSettings{.adapters_max = 8, .rank = 16, .targets = targets};
  return settings;
}

BatchShape adapted(std::int64_t adapters, std::int64_t tokens) {
  BatchShape batch = batch_of_100();
  batch.adapters = adapters;
  batch.adapted_tokens = tokens;
  return batch;
}

std::vector<LowRank> expert_products(const BatchShape& batch, const ParallelLayout& layout) {
  std::vector<LowRank> products;
  for (const KernelCall& call :
       generate(model("mixtral-8x7b"), layout, with(LoraTargets::experts), batch, 0)) {
    if (call.role.starts_with("expert_adapters")) {
      EXPECT_EQ(call.calls, 32);
      products.push_back(std::get<LowRank>(call.kernel));
    }
  }
  return products;
}

// Mixtral: 8 experts of 4096 x 14336, two a token. 60 tokens of 3 adapters are 120 pairs; each
// adapter's 20 wake all 8 experts.
TEST(ExpertAdapters, HaveAPairOfProductsForEachOfTheirExperts) {
  EXPECT_THAT(expert_products(adapted(3, 60), {.tensor = 2}),
              testing::ElementsAre(LowRank{120, 24, 4096, 32}, LowRank{120, 24, 16, 14336},
                                   LowRank{120, 24, 7168, 16}, LowRank{120, 24, 16, 4096}));
}

// One token wakes two experts; of 3 tokens of 2 adapters one has two, which wake four.
TEST(ExpertAdapters, ReadOnlyTheExpertsThatAreWoken) {
  EXPECT_EQ(expert_products(adapted(1, 1), {}).front().adapters, 2);
  EXPECT_EQ(expert_products(adapted(2, 3), {}).front().adapters, 4 + 2);
}

// Of a layer and expert, A and B of gate, up and down: 3 x 16 x (4096 + 14336) parameters.
TEST(ExpertAdapters, AreInMemoryForAllExperts) {
  const auto bytes = [](LoraTargets targets) {
    return StageProgram(model("mixtral-8x7b"), {}, with(targets), 0).adapter_bytes().value();
  };
  EXPECT_DOUBLE_EQ(bytes(LoraTargets::experts) - bytes(LoraTargets::all),
                   2.0 * 32 * 8 * 3 * 16 * (4096 + 14336));
  EXPECT_DOUBLE_EQ(bytes(LoraTargets::all), bytes(LoraTargets::attention));  // all are routed
}

TEST(ExpertAdapters, DenseModelsAndOtherTargetsAreAsBefore) {
  const auto roles_of = [](const char* name, LoraTargets targets) {
    return roles(generate(model(name), {}, with(targets), adapted(3, 60), 0));
  };
  EXPECT_EQ(roles_of("llama-3.1-8b", LoraTargets::experts),
            roles_of("llama-3.1-8b", LoraTargets::all));
  EXPECT_THAT(roles_of("mixtral-8x7b", LoraTargets::all),
              testing::Not(testing::Contains(testing::HasSubstr("expert_adapters"))));
}

}  // namespace
}  // namespace foretoken::expert_adapters_test
