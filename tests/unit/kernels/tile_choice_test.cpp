// Decision trees, the profile's file format, and what the embedded profile of an H200 says.
#include <gmock/gmock.h>

#include "kernels/tiles/tile_profile.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// feature 0 <= 2 ? (feature 1 <= 5 ? 0 : 1) : 2
DecisionTree example_tree() {
  return DecisionTree({{0, 2.0F, 4}, {1, 5.0F, 3}, {-1, 0, 0}, {-1, 0, 1}, {-1, 0, 2}});
}

TEST(DecisionTree, LeadsToTheLeaf) {
  const DecisionTree tree = example_tree();
  const auto classify = [&](float a, float b) { return tree.classify(std::array<float, 2>{a, b}); };
  EXPECT_EQ(classify(2, 5), 0);
  EXPECT_EQ(classify(2, 5.5F), 1);
  EXPECT_EQ(classify(2.5F, 5), 2);
}

TEST(DecisionTree, ReadsWhatItWrote) {
  const Value value = parse_json(to_json(example_tree().to_value()), {"t.json"});
  const DecisionTree tree = DecisionTree::from_value(value, 2, 3);
  EXPECT_EQ(tree.nodes().size(), 5);
  EXPECT_EQ(tree.classify(std::array<float, 2>{1, 9}), 1);
}

TEST(DecisionTree, IsWrittenInPreOrderShortAndExactly) {
  EXPECT_EQ(std::get<std::string>(example_tree().to_value().data), "0<2 1<5 0 1 2");
  const DecisionTree tree({{0, 0.9156249761581421F, 2}, {-1, 0, 0}, {-1, 0, 1}});
  EXPECT_EQ(std::get<std::string>(tree.to_value().data), "0<0.915625 0 1");
  EXPECT_EQ(DecisionTree::from_value(tree.to_value(), 1, 2).nodes()[0].threshold,
            0.9156249761581421F);
}

TEST(DecisionTree, RefusesWhatIsNoTree) {
  const auto read = [](Value text) { return [text] { DecisionTree::from_value(text, 2, 3); }; };
  EXPECT_THAT(read(3), ThrowsMessage<ConfigError>(HasSubstr("a text of nodes")));
  for (const char* text : {"", "0<2", "0<2 1", "0<2 1<5 0 1"}) {
    EXPECT_THAT(read(text), ThrowsMessage<ConfigError>(HasSubstr("ends before its last leaf")))
        << text;
  }
  for (const char* text : {"3", "-1", "x", "2<1 0 1", "0<x 0 1", "0<2 0 1 2", "0<2  0 1"}) {
    EXPECT_THAT(read(text), ThrowsMessage<ConfigError>(HasSubstr("is no node of this tree")))
        << text;
  }
}

// Of features (1, 9), (2, 1), (3, 0) the example says 1, 0, 2; a leaf always says the same.
TEST(VotingTrees, TakeWhatMostSayAndTheLowestOfEquals) {
  const DecisionTree always_two({{-1, 0, 2}}), always_one({{-1, 0, 1}});
  const auto classify = [](const VotingTrees& trees, float a, float b) {
    return trees.classify(std::array<float, 2>{a, b});
  };
  const VotingTrees trees({example_tree(), always_two, always_two});
  EXPECT_EQ(classify(trees, 1, 9), 2);
  const VotingTrees split({example_tree(), always_two});
  EXPECT_EQ(classify(split, 1, 9), 1);  // 1 and 2: the lowest
  EXPECT_EQ(classify(split, 3, 0), 2);
  EXPECT_EQ(classify(VotingTrees({always_one}), 1, 9), 1);
}

TEST(VotingTrees, ReadWhatTheyWroteAndWantOneAtLeast) {
  const VotingTrees trees({example_tree(), example_tree()});
  const Value value = parse_json(to_json(trees.to_value()), {"t.json"});
  EXPECT_EQ(VotingTrees::from_value(value, 2, 3).trees().size(), 2U);
  for (const char* text : {"[]", "3"}) {
    EXPECT_THAT([&] { VotingTrees::from_value(parse_json(text, {"t.json"}), 2, 3); },
                ThrowsMessage<ConfigError>(HasSubstr("a list of at least one")));
  }
}

TileProfile example_profile() {
  TileProfile profile;
  profile.tiles = {{.m = 128, .n = 128, .k = 64, .stages = 4}, {.m = 8, .n = 64, .k = 64}};
  profile.common_tiles = 2;
  profile.splits = {1, 3};
  profile.clusters = {{1, 1}, {2, 1}};
  // m <= 64: the small tile. Its depth is split in 3 from 100 steps on; big tiles pair along m.
  profile.tile = VotingTrees({DecisionTree({{0, 64, 2}, {-1, 0, 1}, {-1, 0, 0}})});
  profile.split = DecisionTree({{2, 100, 2}, {-1, 0, 0}, {-1, 0, 1}});
  profile.cluster = DecisionTree({{7, 64, 2}, {-1, 0, 0}, {-1, 0, 1}});
  return profile;
}

TEST(TileProfile, AsksItsTreesInTurn) {
  const TileProfile profile = example_profile();
  EXPECT_EQ(profile.choose({16, 4096, 6400}, 132), (TileConfig{.m = 8, .n = 64, .k = 64}));
  EXPECT_EQ(profile.choose({16, 4096, 6464}, 132),
            (TileConfig{.m = 8, .n = 64, .k = 64, .split_k = 3}));
  EXPECT_EQ(profile.choose({65, 4096, 4096}, 132),
            (TileConfig{.m = 128, .n = 128, .k = 64, .stages = 4, .cluster_m = 2}));
}

TEST(TileProfile, ReadsWhatItWrote) {
  const std::string text = write_tile_profile(example_profile(), {{"data", "here"}});
  const TileProfile profile = read_tile_profile(parse_json(text, {"p.json"}));
  EXPECT_EQ(write_tile_profile(profile, {{"data", "here"}}), text);
  EXPECT_EQ(profile.choose({65, 4096, 4096}, 132), example_profile().choose({65, 4096, 4096}, 132));
}

TEST(TileProfile, RefusesOtherVersions) {
  std::string text = write_tile_profile(example_profile(), {});
  text.replace(text.find("\"features_version\":1"), 20, "\"features_version\":9");
  EXPECT_THAT(
      [&] { read_tile_profile(parse_json(text, {"p.json"})); },
      ThrowsMessage<ConfigError>(HasSubstr("grow it again with foretoken-calibrate tiles")));
}

// 4,096 x 8,192 in 128 x 128 tiles: 32 x 64 = 2,048 over 132 SMs are 15.5 rounds, 16 started.
TEST(TileProfile, FeaturesCountRounds) {
  const auto features = tile_features({4096, 8192, 1024}, 132, example_profile().common());
  EXPECT_FLOAT_EQ(features[0], 4096);
  EXPECT_FLOAT_EQ(features[4], 2048.0F / 132);
  EXPECT_FLOAT_EQ(features[5], 2048.0F / 132 / 16);
  EXPECT_FLOAT_EQ(features[6], 16);
  // Of the two common tiles the large one takes less: 16 rounds of 128 x 128 against 497 of 8 x 64.
  EXPECT_FLOAT_EQ(features[44], 128);
  EXPECT_FLOAT_EQ(features[46], 8);
}

// Two shapes of the profile itself, as their kernel names say.
TEST(TileProfile, TheEmbeddedOneKnowsItsH200) {
  const TileProfile* const profile = find_tile_profile("cublas13_h200_bf16");
  ASSERT_NE(profile, nullptr);
  const TileConfig prefill = profile->choose({5120, 1728, 768}, 132);
  EXPECT_EQ(prefill.m, 192);
  EXPECT_EQ(prefill.n, 192);
  const TileConfig decode = profile->choose({16, 2168, 240}, 132);
  EXPECT_EQ(decode.m, 8);
  EXPECT_EQ(decode.n, 64);
  EXPECT_EQ(find_tile_profile("nobody"), nullptr);
}

}  // namespace
}  // namespace foretoken
