// Images of requests: tokens behind the text, streams, identities, and mistakes.

#include <gmock/gmock.h>

#include <set>

#include "models/transformer.hpp"
#include "tests/unit/workloads/requests_fixture.hpp"
#include "workloads/requests/media.hpp"

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
    ASSERT_TRUE(plain[i].media.empty());
    ASSERT_EQ(all[i].media.size(), 2U);
    ASSERT_EQ(all[i].media[0].first_token, text);
    ASSERT_EQ(all[i].media[1].first_token, text + 880);
    ASSERT_EQ(all[i].media[1].patches, (MediaPatches{1, 3520, 880}));
    ASSERT_EQ(all[i].prompt_tokens, text + 1760);
  }
  EXPECT_EQ(arrivals(all), arrivals(plain));
  EXPECT_EQ(outputs(all), outputs(plain));
}

// A standard deviation of 20,000 draws with p = 1/4 is 61.
TEST(Images, AreOfAShareOfTheRequests) {
  const auto all = with("{ count = 1, width = 640, height = 480, share = 0.25 }");
  const auto count = std::ranges::count_if(all, [](const Request& r) { return !r.media.empty(); });
  EXPECT_NEAR(static_cast<double>(count), 5000, 250);
}

TEST(Images, SomeAreSentAgain) {
  const auto all = with("{ count = 1, width = 640, height = 480, repeated = 0.5, different = 8 }");
  std::set<std::uint64_t> known, fresh;
  std::int64_t repeated = 0;
  for (const Request& request : all) {
    const std::uint64_t identity = request.media.front().identity;
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
    sizes.emplace(request.media.front().identity, request.media.front().patches.tokens);
  EXPECT_EQ(sizes.size(), 5U);
}

// A hash of a block that is part text and part image would be shared by other images.
TEST(Images, PrefixesEndWithTheText) {
  MediaTraffic images;
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
  images = read_media(reader, all.vision, all.audio, lengths);
  MediaDraws(images, RandomStreams(1)).give(request);
  EXPECT_THAT(request.prefix_hashes, testing::ElementsAre(1, 2));
  EXPECT_EQ(request.prompt_tokens, 140);
}

TEST(Images, AreWrittenBack) {
  const auto given = read(std::string(traffic) +
                              "images = { count = 2, width = 640, height = 480, repeated = 0.5, "
                              "different = 8 }\n",
                          options());
  ASSERT_EQ(given.errors, "");
  EXPECT_TRUE(given.workload->has_media());
  const Value resolved = given.workload->resolved();
  const Value* images = resolved.find("images");
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
}

/// All turns of the first conversation, each answered at once.
std::vector<Request> turns_of(const std::string& workload) {
  const ReadWorkload given = read(workload, options());
  EXPECT_EQ(given.errors, "");
  const auto source = given.workload->start(RandomStreams(1));
  std::vector<Request> turns;
  for (auto turn = source->next(); turn; turn = source->next_follow_up()) {
    turns.push_back(*turn);
    source->on_finished(turn->id, turn->arrival + Seconds(1.0));
  }
  return turns;
}

constexpr const char* conversation = R"(arrivals = "all_at_once"
requests = 3
prompt_tokens = 100
output_tokens = 10
)";

// A turn adds 100 of text and 880 of its image, then 10 of the answer.
TEST(Images, LaterTurnsReadThoseOfEarlierOnesAgain) {
  const auto turns = turns_of(std::string(conversation) +
                              "sessions = { turns = 3, think_time = \"1 s\" }\n"
                              "images = { count = 1, width = 1280, height = 720 }\n");
  ASSERT_EQ(turns.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(turns[i].prompt_tokens, static_cast<std::int64_t>(i) * 990 + 980);
    ASSERT_EQ(turns[i].media.size(), i + 1);
    for (std::size_t k = 0; k <= i; ++k) {
      EXPECT_EQ(turns[i].media[k].first_token, static_cast<std::int64_t>(k) * 990 + 100);
      EXPECT_EQ(turns[i].media[k].identity, turns[2].media[k].identity);
    }
  }
}

// Behind the system prompt's 500 tokens; what is thought, 20 tokens of it, is forgotten. The fourth
// call has no room: its context is cut to the system prompt and 300 tokens, without images.
TEST(Images, OfAgentsGoWithAContextThatIsCut) {
  const auto calls = turns_of(
      "arrivals = \"all_at_once\"\nrequests = 4\nprompt_tokens = 100\noutput_tokens = 10\n"
      "images = { count = 1, width = 1280, height = 720 }\n"
      "agents = { calls = 4, tool_time = \"1 s\", tool_tokens = 50, thinking_tokens = 20, "
      "context_tokens_max = 4000, context_tokens_kept = 300 }\n"
      "system_prompts = { count = 1, tokens = 500 }\n");
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[0].prompt_tokens, 500 + 980);
  EXPECT_EQ(calls[0].media[0].first_token, 600);
  EXPECT_EQ(calls[1].prompt_tokens, 1490 + 50 + 880);
  EXPECT_EQ(calls[2].media.size(), 3U);
  EXPECT_EQ(calls[2].media[2].first_token, 2430 + 50);
  EXPECT_EQ(calls[3].prompt_tokens, 800 + 50 + 880);
  ASSERT_EQ(calls[3].media.size(), 1U);
  EXPECT_EQ(calls[3].media[0].first_token, 850);
}

}  // namespace
}  // namespace foretoken::images_test
