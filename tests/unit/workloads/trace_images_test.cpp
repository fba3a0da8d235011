// Images in traces: read, kept with their rows as these are sorted, played to a model, and
// mistakes.
#include <gmock/gmock.h>

#include "models/transformer.hpp"
#include "tests/unit/workloads/requests_fixture.hpp"
#include "workloads/requests/trace_media.hpp"

namespace foretoken::trace_images_test {
namespace {

class TraceImages : public TemporaryFolder {
 protected:
  std::string trace(std::string_view lines) { return write("t.jsonl", lines).string(); }

  static WorkloadOptions options(const char* model = "qwen3.5-27b") {
    WorkloadOptions options;
    options.vision = load_model(model, {}).vision;
    return options;
  }

  std::string error(std::string_view lines, const std::string& keys = "",
                    const char* model = "qwen3.5-27b") {
    return read("trace = \"" + trace(lines) + "\"\n" + keys, options(model)).errors;
  }
};

/// A request of `prompt` tokens at `arrival`, with members behind.
std::string row(double arrival, int prompt, const std::string& more) {
  return fmt::format("{{\"arrival_s\":{},\"prompt_tokens\":{},\"output_tokens\":3{}}}\n", arrival,
                     prompt, more);
}

// 1280 x 720 pixels are 880 tokens of Qwen3.5, 640 x 480 are 300. The later row comes first.
const std::string two_images =
    R"(,"images":[{"id":7,"first_token":100,"tokens":880,"width":1280,"height":720},)"
    R"({"id":9,"first_token":990,"tokens":300,"width":640,"height":480}])";

TEST_F(TraceImages, StayWithTheirRows) {
  const auto all =
      requests("trace = \"" + trace(row(5, 1300, two_images) + row(1, 50, "")) + "\"\n", options());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].media.empty());
  EXPECT_EQ(all[1].prompt_tokens, 1300);
  ASSERT_EQ(all[1].media.size(), 2U);
  EXPECT_EQ(all[1].media[0].identity, 7U);
  EXPECT_EQ(all[1].media[0].first_token, 100);
  EXPECT_EQ(all[1].media[0].patches, (MediaPatches{1, 3520, 880}));
  EXPECT_EQ(all[1].media[1].first_token, 990);
}

// Recorded where the first image was 1,000 tokens: 120 fewer, and all behind it moves. Of blocks of
// 64 tokens one lies before the image.
TEST_F(TraceImages, AreCutAsTheModelCutsThem) {
  const std::string larger =
      R"(,"images":[{"id":7,"first_token":100,"tokens":1000,"width":1280,"height":720},)"
      R"({"id":9,"first_token":1110,"tokens":300,"width":640,"height":480}])"
      R"(,"prefix_hashes":[1,2,3])";
  const auto all = requests(
      "trace = \"" + trace(row(0, 1500, larger)) + "\"\nprefix_block_tokens = 64\n", options());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].prompt_tokens, 1380);
  EXPECT_EQ(all[0].media[1].first_token, 990);
  EXPECT_THAT(all[0].prefix_hashes, testing::ElementsAre(1U));
}

TEST_F(TraceImages, CountAsImagesOfTheWorkload) {
  const auto with = read("trace = \"" + trace(row(0, 1300, two_images)) + "\"\n", options());
  ASSERT_EQ(with.errors, "");
  EXPECT_TRUE(with.workload->has_media());
  EXPECT_FALSE(
      read("trace = \"" + trace(row(0, 1300, "")) + "\"\n", options()).workload->has_media());
  // Prompts of one's own have none of the trace's.
  EXPECT_FALSE(
      read("trace = \"" + trace(row(0, 1300, two_images)) + "\"\nprompt_tokens = 9\n", options())
          .workload->has_media());
}

TEST_F(TraceImages, WantAModelThatTakesThem) {
  const std::string lines = row(0, 1300, two_images);
  EXPECT_THAT(
      error(lines, "", "llama-3.1-8b"),
      testing::HasSubstr("its requests have images, which the model does not take; choose one "
                         "with a [vision] table (foretoken model show NAME)"));
  EXPECT_THAT(error(lines, "images = { count = 1, width = 9, height = 9 }"),
              testing::HasSubstr("the trace has images of its own; remove the table"));
}

TEST_F(TraceImages, MistakesHaveTheirLine) {
  const auto of = [&](const std::string& images) {
    return error(row(0, 50, "") + row(0, 500, ",\"images\":" + images));
  };
  EXPECT_THAT(of("[7]"), testing::HasSubstr("t.jsonl:2: images: each must be an object"));
  EXPECT_THAT(of(R"([{"first_token":0}])"), testing::HasSubstr("lacks \"id\""));
  EXPECT_THAT(of(R"([{"id":1,"first_token":0,"tokens":0,"width":1,"height":1}])"),
              testing::HasSubstr("images: \"tokens\" must be an integer from 1 to 500"));
  EXPECT_THAT(of(R"([{"id":1,"first_token":400,"tokens":200,"width":1,"height":1}])"),
              testing::HasSubstr("images: one ends at token 600, but the prompt has 500"));
  EXPECT_THAT(of(R"([{"id":1,"first_token":0,"tokens":20,"width":1,"height":1},)"
                 R"({"id":1,"first_token":10,"tokens":20,"width":1,"height":1}])"),
              testing::HasSubstr("must be in the order of their tokens"));
}

}  // namespace
}  // namespace foretoken::trace_images_test
