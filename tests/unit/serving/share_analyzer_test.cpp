// llm-d's Workload Variant Autoscaler by shares, by hand: a replica is saturated from 0.8 of its KV
// cache or five waiting requests on, and those that are not shall have 0.1 and three left on
// average.

#include <gmock/gmock.h>

#include "sim/serving/variant_analyzer.hpp"

namespace foretoken::share_analyzer_test {
namespace {

using ::testing::ElementsAre;

Variant variant(std::string name, double cost, int min = 1, int max = 10) {
  return {.name = std::move(name), .cost = cost, .min = min, .max = max};
}

ReplicaMetrics replica(double kv_share, std::int64_t queued = 0) {
  return {.kv_capacity = 1000, .kv_share = kv_share, .queued = queued};
}

VariantView serving(std::vector<ReplicaMetrics> replicas, int starting = 0) {
  return {static_cast<int>(replicas.size()), starting, std::move(replicas)};
}

std::vector<int> look(std::vector<Variant> variants, const ModelView& view) {
  WvaSettings settings;
  settings.analyzer = SaturationAnalyzer::shares;
  return make_variant_analyzer(settings, std::move(variants))->look(view);
}

const std::vector<Variant> dear_and_cheap = {variant("dear", 20), variant("cheap", 15)};

/// WVA's own example (docs/saturation-analyzer.md): 0.15 and `3.2` left on average.
ModelView five(std::int64_t third_queue) {
  return {{serving({replica(0.70, 2), replica(0.75, 3)}),
           serving({replica(0.60, third_queue), replica(0.65, 2), replica(0.55, 1)})}};
}

// 0.75 / 5 = 0.15, 16 / 5 = 3.2: enough, and 0.8 - 0.65 x 5 / 4 < 0.1 with one less. With two more
// waiting 14 / 5 = 2.8.
TEST(ShareAnalyzer, AddsOneOfTheCheapestWhereTooLittleIsLeft) {
  EXPECT_THAT(look(dear_and_cheap, five(1)), ElementsAre(2, 3));
  EXPECT_THAT(look(dear_and_cheap, five(3)), ElementsAre(2, 4));
}

// One at 0.8 is saturated and no longer counted: the other has 0.6. Two at 0.8 leave nothing.
TEST(ShareAnalyzer, LeavesSaturatedReplicasOut) {
  const std::vector<Variant> one = {variant("a", 1)};
  EXPECT_THAT(look(one, {{serving({replica(0.8), replica(0.2)})}}), ElementsAre(2));
  EXPECT_THAT(look(one, {{serving({replica(0.1, 5), replica(0.2)})}}), ElementsAre(2));
  EXPECT_THAT(look(one, {{serving({replica(0.8), replica(0.9)})}}), ElementsAre(3));
  EXPECT_THAT(look(one, {{serving({replica(0.8), replica(0.75)})}}), ElementsAre(3));
}

// Of three at 0.3 two would be at 0.45: 0.35 left. Of two with one waiting each, one would have
// two: three left. With 1 and 2 waiting one would have three: two left.
TEST(ShareAnalyzer, RemovesOneWhereTheOthersCanTakeItsLoad) {
  const std::vector<Variant> one = {variant("a", 1)};
  EXPECT_THAT(look(one, {{serving({replica(0.3), replica(0.3), replica(0.3)})}}), ElementsAre(2));
  EXPECT_THAT(look(one, {{serving({replica(0, 1), replica(0, 1)})}}), ElementsAre(1));
  EXPECT_THAT(look(one, {{serving({replica(0, 1), replica(0, 2)})}}), ElementsAre(2));
  EXPECT_THAT(look(one, {{serving({replica(0)})}}), ElementsAre(1));
}

TEST(ShareAnalyzer, TheDearestGoesFirstAndOneOfEachStays) {
  const auto idle = [](int dear, int cheap) {
    return ModelView{{serving(std::vector(static_cast<std::size_t>(dear), replica(0))),
                      serving(std::vector(static_cast<std::size_t>(cheap), replica(0)))}};
  };
  EXPECT_THAT(look(dear_and_cheap, idle(2, 3)), ElementsAre(1, 3));
  EXPECT_THAT(look(dear_and_cheap, idle(1, 3)), ElementsAre(1, 2));
  EXPECT_THAT(look(dear_and_cheap, idle(1, 1)), ElementsAre(1, 1));
  EXPECT_THAT(look({variant("dear", 20, 2), variant("cheap", 15)}, idle(2, 3)), ElementsAre(2, 2));
}

TEST(ShareAnalyzer, AmongEqualsTheFirstGrowsAndTheLastShrinks) {
  const std::vector<Variant> equal = {variant("b", 1), variant("a", 1)};
  const ReplicaMetrics full = replica(0.9), idle = replica(0);
  EXPECT_THAT(look(equal, {{serving({full, full}), serving({full, full})}}), ElementsAre(2, 3));
  EXPECT_THAT(look(equal, {{serving({idle, idle}), serving({idle, idle})}}), ElementsAre(1, 2));
}

TEST(ShareAnalyzer, GrowsTheNextWhereTheCheapestIsFull) {
  const ReplicaMetrics full = replica(0.9);
  EXPECT_THAT(look({variant("dear", 20), variant("cheap", 15, 1, 2)},
                   {{serving({full}), serving({full, full})}}),
              ElementsAre(2, 2));
}

// While a replica starts, or has no metrics, or was asked for and is not there, nothing else
// happens.
TEST(ShareAnalyzer, WaitsUntilWhatItAskedForIsThere) {
  const ReplicaMetrics full = replica(0.9);
  EXPECT_THAT(look(dear_and_cheap, {{serving({full}), serving({full}, 1)}}), ElementsAre(1, 2));
  VariantView silent = serving({full});
  silent.serving = 2;
  EXPECT_THAT(look(dear_and_cheap, {{serving({full}), silent}}), ElementsAre(1, 2));

  WvaSettings settings;
  const auto analyzer = make_share_analyzer(settings, dear_and_cheap);
  EXPECT_THAT(analyzer->look({{serving({full}), serving({full})}}), ElementsAre(1, 2));
  EXPECT_THAT(analyzer->look({{serving({full}), serving({full})}}), ElementsAre(1, 2));
  EXPECT_THAT(analyzer->look({{serving({full}), serving({full, full})}}), ElementsAre(1, 3));
}

// Nobody knows of a variant without replicas.
TEST(ShareAnalyzer, NeverStartsAVariantThatSleeps) {
  EXPECT_THAT(look({variant("a", 20), variant("b", 1, 0)}, {{serving({replica(0.9)}), {}}}),
              ElementsAre(2, 0));
}

}  // namespace
}  // namespace foretoken::share_analyzer_test
