// What is recorded of images is what traces read.
#include "sim/live/recorded_images.hpp"

#include <gtest/gtest.h>

#include "sim/base/json.hpp"
#include "workloads/requests/trace_media.hpp"

namespace foretoken::recorded_images_test {
namespace {

TEST(RecordedImages, AreReadAsTheyWere) {
  CompletionRequest asked;
  asked.images = {{7, 12, {1, 400, 100}}, {0x7FFF'FFFF'FFFF'FFFF, 112, {2, 400, 200}}};
  asked.image_sizes = {{320, 300}, {1280, 720}};
  RecordedImages recorded;
  recorded.note(RequestId{3}, asked);
  recorded.note(RequestId{4}, CompletionRequest());
  EXPECT_EQ(recorded.take(RequestId{4}), "");
  const std::string text = recorded.take(RequestId{3});
  const auto read = trace_media(parse_json("{\"input_toks\":500" + text + "}", {"line", 1}), 500);
  const std::vector<TraceItem> expected = {{7, 12, 100, 320, 300},
                                           {0x7FFF'FFFF'FFFF'FFFF, 112, 200, 1280, 720}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(recorded.take(RequestId{3}), "");  // forgotten
}

}  // namespace
}  // namespace foretoken::recorded_images_test
