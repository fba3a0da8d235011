// Images of requests: tokens behind the text, streams, identities, and mistakes.

#include "workloads/requests/images.hpp"

#include <gmock/gmock.h>

#include <set>

#include "models/transformer.hpp"
#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::images_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 20000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

WorkloadOptions options() {
  WorkloadOptions options;
  options.vision = load_model("qwen3.5-27b", {}).vision;
  return options;
}

std::vector<Request> with(const std::string& images) {
  return requests(std::string(traffic) + "images = " + images + "\n", options());
}

// 1280 x 720 pixels are 880 tokens of Qwen3.5 (tests/unit/models/vision_test.cpp).
TEST(Images, StandBehindTheTextOneBehindTheOther) {
  const auto plain = requests(traffic, options());
  const auto all = with("{ count = 2, width = 1280, height = 720 }");
  ASSERT_EQ(all.size(), plain.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t text = plain[i].prompt_tokens;
    ASSERT_TRUE(plain[i].images.empty());
    ASSERT_EQ(all[i].images.size(), 2U);
    ASSERT_EQ(all[i].images[0].first_token, text);
    ASSERT_EQ(all[i].images[1].first_token, text + 880);
    ASSERT_EQ(all[i].images[1].patches, (ImagePatches{1, 3520, 880}));
    ASSERT_EQ(all[i].prompt_tokens, text + 1760);
  }
  EXPECT_EQ(arrivals(all), arrivals(plain));
  EXPECT_EQ(outputs(all), outputs(plain));
}

// A standard deviation of 20,000 draws with p = 1/4 is 61.
TEST(Images, AreOfAShareOfTheRequests) {
  const auto all = with("{ count = 1, width = 640, height = 480, share = 0.25 }");
  const auto count = std::ranges::count_if(all, [](const Request& r) { return !r.images.empty(); });
  EXPECT_NEAR(static_cast<double>(count), 5000, 250);
}

TEST(Images, SomeAreSentAgain) {
  const auto all = with("{ count = 1, width = 640, height = 480, repeated = 0.5, different = 8 }");
  std::set<std::uint64_t> known, fresh;
  std::int64_t repeated = 0;
  for (const Request& request : all) {
    const std::uint64_t identity = request.images.front().identity;
    (identity < 8 ? known : fresh).insert(identity);
    repeated += identity < 8 ? 1 : 0;
  }
  EXPECT_EQ(known.size(), 8U);
  EXPECT_EQ(static_cast<std::int64_t>(fresh.size()), 20'000 - repeated);
  EXPECT_NEAR(static_cast<double>(repeated), 10'000, 350);  // five standard deviations
}

// Of one size each, however sizes are drawn.
TEST(Images, EqualOnesAreOfOneSize) {
  const auto all = with(
      "{ count = 1, width = { distribution = \"uniform\", min = 100, max = 4000 }, height = 700, "
      "repeated = 1, different = 5 }");
  std::set<std::pair<std::uint64_t, std::int64_t>> sizes;
  for (const Request& request : all)
    sizes.emplace(request.images.front().identity, request.images.front().patches.tokens);
  EXPECT_EQ(sizes.size(), 5U);
}

// A hash of a block that is part text and part image would be shared by other images.
TEST(Images, PrefixesEndWithTheText) {
  ImageTraffic images;
  const WorkloadOptions all = options();
  const auto read_one =
      read(std::string(traffic) + "images = { count = 1, width = 320, height = 320 }\n", all);
  ASSERT_EQ(read_one.errors, "");
  Request request;
  request.prompt_tokens = 40;
  request.prefix_block_tokens = 16;
  request.prefix_hashes = {1, 2, 3};  // the last is of 8 tokens
  const Value table = parse_toml("images = { count = 1, width = 320, height = 320 }", "s.toml");
  Diagnostics diagnostics;
  TableReader reader(table, diagnostics, "workload");
  const LengthRegistry lengths = length_registry();
  images = read_images(reader, all.vision, lengths);
  ImageDraws(images, RandomStreams(1)).give(request);
  EXPECT_THAT(request.prefix_hashes, testing::ElementsAre(1, 2));
  EXPECT_EQ(request.prompt_tokens, 140);
}

TEST(Images, AreWrittenBack) {
  const auto given = read(std::string(traffic) +
                              "images = { count = 2, width = 640, height = 480, repeated = 0.5, "
                              "different = 8 }\n",
                          options());
  ASSERT_EQ(given.errors, "");
  EXPECT_TRUE(given.workload->has_images());
  const Value* images = given.workload->resolved().find("images");
  ASSERT_NE(images, nullptr);
}

TEST(Images, MistakesAreTold) {
  const auto errors = [](const std::string& images, const WorkloadOptions& given) {
    return read(std::string(traffic) + images + "\n", given).errors;
  };
  EXPECT_THAT(errors("images = { count = 1, width = 10, height = 10 }", {}),
              testing::HasSubstr("workload.images: the model takes no images"));
  EXPECT_THAT(errors("images = { count = 1, height = 10 }", options()),
              testing::HasSubstr("workload.images.width: is missing"));
  EXPECT_THAT(errors("images = { count = 1, width = 10, height = 10, repeated = 1.5 }", options()),
              testing::HasSubstr("workload.images.repeated: must be from 0 to 1"));
  EXPECT_THAT(errors("images = { count = 1, width = 10, height = 10 }\n"
                     "sessions = { turns = 3 }",
                     options()),
              testing::HasSubstr("cannot be combined with sessions"));
}

}  // namespace
}  // namespace foretoken::images_test
