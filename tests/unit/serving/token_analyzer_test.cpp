// llm-d's Workload Variant Autoscaler by tokens, by hand. Unless a test says otherwise a replica's
// cache holds 1,000 tokens, of which 0.8 count: 800. Demand is to be 0.85 of that at most, and 0.7
// of what remains when replicas go.

#include <gmock/gmock.h>

#include <random>

#include "sim/serving/variant_analyzer.hpp"

namespace foretoken::token_analyzer_test {
namespace {

using ::testing::ElementsAre;

Variant variant(std::string name, double cost, int min = 0, int max = 10) {
  return {.name = std::move(name), .cost = cost, .min = min, .max = max, .hardware = "GPU|1"};
}

ReplicaMetrics replica(double kv_share, std::int64_t queued = 0, double prompt = 0,
                       double output = 0) {
  return {.kv_capacity = 1000,
          .kv_share = kv_share,
          .queued = queued,
          .prompt_tokens = prompt,
          .output_tokens = output};
}

/// `count` equal ones that serve, and others that start.
VariantView serving(int count, const ReplicaMetrics& metrics, int starting = 0) {
  return {count, starting, std::vector(static_cast<std::size_t>(count), metrics)};
}

std::vector<int> look(std::vector<Variant> variants, const ModelView& view) {
  return make_token_analyzer({}, std::move(variants))->look(view);
}

// 500 / 0.85 = 588 of 800, and 800 - 500 / 0.7 = 86 to spare: one stays. 900 / 0.85 = 1,059 lack
// 259, a third of a replica.
TEST(TokenAnalyzer, AddsWhatDemandLacks) {
  EXPECT_THAT(look({variant("a", 1)}, {{serving(1, replica(0.5))}}), ElementsAre(1));
  EXPECT_THAT(look({variant("a", 1)}, {{serving(1, replica(0.9))}}), ElementsAre(2));
}

// 900 in use and 10 x (100 + 50) waiting: 2,400 / 0.85 = 2,824 lack 2,024, 2.5 replicas.
TEST(TokenAnalyzer, AddsSeveralAtOnceForAQueue) {
  EXPECT_THAT(look({variant("a", 1)}, {{serving(1, replica(0.9, 10, 100, 50))}}), ElementsAre(4));
}

// The one that starts is counted: 1,059 of 1,600. It is not counted as one to spare.
TEST(TokenAnalyzer, DoesNotAnswerABurstTwice) {
  EXPECT_THAT(look({variant("a", 1)}, {{serving(1, replica(0.9), 1)}}), ElementsAre(2));
  EXPECT_THAT(look({variant("a", 1)}, {{serving(1, replica(0.5), 1)}}), ElementsAre(2));
}

// With five waiting the 300 tokens that it holds are all it can: 300 + 5 x 150 = 1,050 / 0.85 =
// 1,235 lack 935, 3.1 of 300 each. Remembered for answers of that length: 300 / 0.85 lack 53.
// Longer answers are another matter: 300 / 0.85 = 353 of 800.
TEST(TokenAnalyzer, AQueueShowsWhatAReplicaCan) {
  const auto analyzer = make_token_analyzer({}, {variant("a", 1)});
  EXPECT_THAT(analyzer->look({{serving(1, replica(0.3, 5, 100, 50))}}), ElementsAre(5));
  EXPECT_THAT(analyzer->look({{serving(1, replica(0.3, 0, 100, 50))}}), ElementsAre(2));
  EXPECT_THAT(analyzer->look({{serving(1, replica(0.3, 0, 100, 150))}}), ElementsAre(1));
}

// The mean of the last ten: ten of 600 leave nothing of the first, of 300.
TEST(TokenAnalyzer, RemembersTenQueues) {
  const auto analyzer = make_token_analyzer({}, {variant("a", 1)});
  analyzer->look({{serving(1, replica(0.3, 5, 100, 50))}});
  for (int i = 0; i < 10; ++i) analyzer->look({{serving(1, replica(0.6, 5, 100, 50))}});
  EXPECT_THAT(analyzer->look({{serving(1, replica(0.5, 0, 100, 50))}}), ElementsAre(1));   // 588
  EXPECT_THAT(analyzer->look({{serving(1, replica(0.52, 0, 100, 50))}}), ElementsAre(2));  // 612
}

TEST(TokenAnalyzer, VariantsOnEqualHardwareShareWhatWasSeen) {
  const ReplicaMetrics queued = replica(0.3, 5, 100, 50), idle = replica(0.3, 0, 100, 50);
  std::vector<Variant> variants = {variant("a", 1, 0, 1), variant("b", 2, 0, 1)};
  const auto alike = make_token_analyzer({}, variants);
  variants[1].hardware = "other GPU|1";
  const auto unlike = make_token_analyzer({}, variants);
  alike->look({{serving(1, queued), serving(0, {})}});
  unlike->look({{serving(1, queued), serving(0, {})}});
  // b alone: 353 of 300, or of 800. a, which is full, may have one replica.
  EXPECT_THAT(alike->look({{serving(0, {}), serving(1, idle)}}), ElementsAre(1, 1));
  EXPECT_THAT(unlike->look({{serving(0, {}), serving(1, idle)}}), ElementsAre(0, 1));
}

// A token of b costs 20 / 2,400, of a 10 / 800. It is b that grows, though a replica of it is
// dearer.
TEST(TokenAnalyzer, GrowsWhereATokenIsCheapest) {
  ReplicaMetrics large = replica(0.9);
  large.kv_capacity = 3000;
  const ModelView view = {{serving(1, replica(0.9)), serving(1, large)}};
  EXPECT_THAT(look({variant("a", 10), variant("b", 20)}, view), ElementsAre(1, 2));
  EXPECT_THAT(look({variant("a", 10), variant("b", 40)}, view), ElementsAre(3, 1));
}

// 4 x 900 / 0.85 = 4,235 lack 1,035: two replicas, of which a may have one. Among equals by name.
TEST(TokenAnalyzer, GoesOnWithTheNextWhereOneIsFull) {
  const ModelView view = {{serving(2, replica(0.9)), serving(2, replica(0.9))}};
  EXPECT_THAT(look({variant("a", 1, 0, 3), variant("b", 2)}, view), ElementsAre(3, 3));
  EXPECT_THAT(look({variant("b", 1), variant("a", 1)}, view), ElementsAre(2, 4));
  EXPECT_THAT(look({variant("a", 1, 0, 2), variant("b", 2, 0, 2)}, view), ElementsAre(2, 2));
}

// 5 x 200 / 0.7 = 1,429 of 4,000 leave 2,571, three replicas: both of b, which are dearest, one of
// a.
TEST(TokenAnalyzer, TheDearestGoFirst) {
  const ModelView view = {{serving(3, replica(0.2)), serving(2, replica(0.2))}};
  EXPECT_THAT(look({variant("a", 1), variant("b", 5)}, view), ElementsAre(2, 0));
  EXPECT_THAT(look({variant("a", 1), variant("b", 5, 1)}, view), ElementsAre(1, 1));
  EXPECT_THAT(look({variant("a", 1, 3), variant("b", 5, 2)}, view), ElementsAre(3, 2));
}

// Of equal cost those with less capacity, then by name.
TEST(TokenAnalyzer, AmongEquallyDearOnesTheSmallestGo) {
  ReplicaMetrics small = replica(0);
  small.kv_capacity = 500;
  const ModelView view = {{serving(1, replica(0)), serving(1, small)}};
  EXPECT_THAT(look({variant("a", 1), variant("b", 1)}, view), ElementsAre(1, 0));
  EXPECT_THAT(
      look({variant("a", 1), variant("b", 1)}, {{serving(1, replica(0)), serving(1, replica(0))}}),
      ElementsAre(0, 1));
}

TEST(TokenAnalyzer, OneOfTheCheapestStaysWhereNoOtherDoes) {
  EXPECT_THAT(look({variant("a", 1)}, {{serving(2, replica(0))}}), ElementsAre(1));
  const ModelView idle = {{serving(1, replica(0)), serving(1, replica(0))}};
  EXPECT_THAT(look({variant("a", 1), variant("b", 2)}, idle), ElementsAre(1, 0));
  EXPECT_THAT(look({variant("a", 1), variant("b", 2, 1)}, idle), ElementsAre(0, 1));
  EXPECT_THAT(look({variant("b", 2), variant("a", 1)}, {{serving(0, {}), serving(0, {})}}),
              ElementsAre(0, 1));
}

// b never ran: 2,048 tokens a step keep 2,048 x 100 / 400 = 512 sequences running, 256 at most, of
// 300 + 50 tokens: 89,600. So a token of it costs less than one of a (10 / 800) up to a cost of
// 1,120.
TEST(TokenAnalyzer, AVariantThatNeverRanIsJudgedByItsSteps) {
  Variant b = variant("b", 1119);
  b.batch_tokens = 2048;
  b.sequences = 256;
  const ModelView view = {{serving(1, replica(0.9, 0, 300, 100)), serving(0, {})}};
  EXPECT_THAT(look({variant("a", 10), b}, view), ElementsAre(1, 1));
  b.cost = 1121;
  EXPECT_THAT(look({variant("a", 10), b}, view), ElementsAre(2, 0));
}

// Ten wait before the replicas: 10 x (300 x 0.5 + 100) = 2,500 beside the 100 in use.
TEST(TokenAnalyzer, CountsWhatWaitsBeforeTheReplicas) {
  ReplicaMetrics half_found = replica(0.1, 0, 300, 100);
  half_found.prefix_hits = 0.5;
  ModelView view = {{serving(1, half_found)}};
  view.held = 10;
  EXPECT_THAT(look({variant("a", 1)}, view), ElementsAre(4));  // 2,600 / 0.85 = 3,059
}

// A replica whose metrics nobody has yet is no supply: 1,059 lack 259 of the one that reports.
TEST(TokenAnalyzer, CountsReplicasThatReport) {
  VariantView view = serving(1, replica(0.9));
  view.serving = 2;
  EXPECT_THAT(look({variant("a", 1)}, {{view}}), ElementsAre(3));
}

// Two variants of equal replicas at equal cost want as many together as one of all of them.
TEST(TokenAnalyzer, EqualVariantsAreOnePool) {
  std::mt19937 random(1);
  const auto below = [&random](unsigned count) { return static_cast<int>(random() % count); };
  for (int i = 0; i < 500; ++i) {
    const int first = 1 + below(4), second = 1 + below(4);
    const ReplicaMetrics load = replica(below(100) / 100.0, below(8), below(200), below(90));
    const int starting = below(3);
    const std::vector<int> apart = look({variant("a", 3, 0, 20), variant("b", 3, 0, 20)},
                                        {{serving(first, load, starting), serving(second, load)}});
    const std::vector<int> together =
        look({variant("all", 3, 0, 40)}, {{serving(first + second, load, starting)}});
    EXPECT_EQ(apart[0] + apart[1], together[0]) << i;
  }
}

}  // namespace
}  // namespace foretoken::token_analyzer_test
