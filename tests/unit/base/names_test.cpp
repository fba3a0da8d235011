// Names people type: enumerators, the nearest known name, and registries of variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sim/base/enum_names.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/registry.hpp"

namespace foretoken {

enum class Fruit { apple, blood_orange };
template <>
struct EnumNames<Fruit> {
  static constexpr auto names = std::to_array<std::string_view>({"apple", "blood_orange"});
};

namespace {

constexpr auto gpus = std::to_array<std::string_view>({"a100-sxm", "h100-sxm", "h20", "h200-sxm"});

TEST(EnumNames, GoBothWays) {
  EXPECT_EQ(enum_name(Fruit::blood_orange), "blood_orange");
  EXPECT_EQ(parse_enum<Fruit>("blood_orange"), Fruit::blood_orange);
  EXPECT_EQ(parse_enum<Fruit>("blood-orange"), std::nullopt);
}

TEST(NearestName, ForgivesTypingMistakes) {
  EXPECT_EQ(nearest_name("h200-sxn", gpus), "h200-sxm");  // 1 edit; h100-sxm would be 2
  EXPECT_EQ(nearest_name("a10-sxm", gpus), "a100-sxm");
}

TEST(NearestName, KnowsInitials) {
  const std::vector<std::string_view> keys = {"nodes", "tensor_parallel", "pipeline_parallel"};
  EXPECT_EQ(nearest_name("tp", keys), "tensor_parallel");
  EXPECT_EQ(nearest_name("pp", keys), "pipeline_parallel");
}
TEST(NearestName, CompletesAPrefix) { EXPECT_EQ(nearest_name("h100", gpus), "h100-sxm"); }

TEST(NearestName, PrefersTheFirstOfEquallyNear) {
  EXPECT_EQ(nearest_name("x100-sxm", gpus), "a100-sxm");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("tpu-v5p", gpus), "");
  EXPECT_EQ(nearest_name("h200-sxm", {}), "");
}

TEST(NearestName, AllowsAThirdOfTheLengthInEdits) {
  const auto known = std::to_array<std::string_view>({"memory_utilization"});
  EXPECT_EQ(nearest_name("memory_utilisatoin", known), "memory_utilization");  // 3 of 18
  EXPECT_EQ(nearest_name("mem_usage", known), "");
}

TEST(UnknownNameMessage, EndsWithTheKnownNames) {
  EXPECT_EQ(unknown_name_message("GPU", "h20o", {"h100-sxm", "h20"}),
            "unknown GPU 'h20o'; did you mean 'h20'? Known: h100-sxm, h20");
  EXPECT_EQ(unknown_name_message("GPU", "tpu-v5p", {"h100-sxm", "h20"}),
            "unknown GPU 'tpu-v5p'. Known: h100-sxm, h20");
}

class RegistryTest : public testing::Test {
 protected:
  RegistryTest() {
    registry_.add({"fcfs", "first come, first served", [] { return 1; }});
    registry_.add({"priority", "by priority", [] { return 2; }});
  }
  Registry<std::function<int()>> registry_{"scheduler"};
};

TEST_F(RegistryTest, FindsByName) {
  EXPECT_EQ(registry_.find("priority", {}).make(), 2);
  EXPECT_EQ(registry_.find("fcfs", {}).summary, "first come, first served");
}

TEST_F(RegistryTest, KeepsTheOrderOfTheCatalog) {
  ASSERT_EQ(registry_.entries().size(), 2U);
  EXPECT_EQ(registry_.entries()[0].name, "fcfs");
  EXPECT_EQ(registry_.entries()[1].name, "priority");
}

TEST_F(RegistryTest, AnUnknownNameIsTheUsersMistake) {
  EXPECT_THAT(
      [&] {
        (void)registry_.find("fcsf", SourcePosition{"a.toml", 4, 1});
      },
      testing::ThrowsMessage<ConfigError>(
          "a.toml:4:1: unknown scheduler 'fcsf'; did you mean 'fcfs'? Known: fcfs, "
          "priority"));
}

TEST_F(RegistryTest, ANameTwiceIsOurs) {
  EXPECT_THROW(registry_.add({"fcfs", "again", [] { return 3; }}), InternalError);
}

}  // namespace
}  // namespace foretoken
