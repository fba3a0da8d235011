// Sizes of images from their first bytes, each laid out by hand from the format's specification.
#include "workloads/requests/image_header.hpp"

#include <gtest/gtest.h>

#include "sim/base/json.hpp"
#include "workloads/requests/prompt_text.hpp"

namespace foretoken::image_header_test {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text.push_back(static_cast<char>(value));
  return text;
}

TEST(ImageHeader, ReadsPng) {
  const std::string png = "\x89PNG\r\n\x1A\n" + bytes({0, 0, 0, 13}) + "IHDR" +
                          bytes({0, 0, 5, 0, 0, 0, 2, 0xD0, 8, 2, 0, 0, 0});
  EXPECT_EQ(pixel_size(png), (PixelSize{1280, 720}));
  EXPECT_EQ(pixel_size(png.substr(0, 23)), std::nullopt);
}

// An APP0 segment of 4 bytes, then the frame: length, precision, height 300, width 513.
TEST(ImageHeader, ReadsJpeg) {
  for (const int frame : {0xC0, 0xC2}) {
    const std::string jpeg = bytes(
        {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, frame, 0, 11, 8, 1, 44, 2, 1, 3, 0, 0});
    EXPECT_EQ(pixel_size(jpeg), (PixelSize{513, 300}));
    for (std::size_t end = 0; end < 17; ++end)
      EXPECT_EQ(pixel_size(jpeg.substr(0, end)), std::nullopt);
  }
  EXPECT_EQ(pixel_size(bytes({0xFF, 0xD8, 0xFF, 0xC4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0})),
            std::nullopt);
}

TEST(ImageHeader, ReadsWebp) {
  const std::string head = "RIFF" + bytes({0, 0, 0, 0}) + "WEBP";
  const std::string lossy =
      head + "VP8 " + bytes({0, 0, 0, 0, 0, 0, 0, 0x9D, 1, 0x2A, 0x20, 3, 0x58, 2});
  EXPECT_EQ(pixel_size(lossy), (PixelSize{800, 600}));
  // 14 bits of width less 1 (799 = 0x31F), then 14 of height less 1 (599 = 0x257).
  const std::string lossless =
      head + "VP8L" + bytes({0, 0, 0, 0, 0x2F, 0x1F, 0xC3, 0x95, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(pixel_size(lossless), (PixelSize{800, 600}));
  const std::string extended =
      head + "VP8X" + bytes({10, 0, 0, 0, 0, 0, 0, 0, 0x1F, 3, 0, 0x57, 2, 0});
  EXPECT_EQ(pixel_size(extended), (PixelSize{800, 600}));
  EXPECT_EQ(pixel_size(head + "VP9 " + std::string(14, '\0')), std::nullopt);
}

TEST(ImageHeader, ReadsGif) {
  EXPECT_EQ(pixel_size("GIF89a" + bytes({0x20, 3, 0x58, 2})), (PixelSize{800, 600}));
  EXPECT_EQ(pixel_size("no image at all"), std::nullopt);
}

TEST(ImageHeader, Base64IsRfc4648) {
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(from_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(from_base64("Zm9v\r\nYmE"), "fooba");
  EXPECT_EQ(from_base64("-_-_"), from_base64("+/+/"));
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zm9*"), std::nullopt);
}

// One pixel, as browsers have it in data URLs; the same image twice is one.
TEST(ImageHeader, ReadsDataUrls) {
  const std::string part =
      R"({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}})";
  const SentImage image = read_image_part(parse_json(part, {"part", 1}));
  EXPECT_EQ(image.size, (PixelSize{1, 1}));
  EXPECT_EQ(image.identity, read_image_part(parse_json(part, {"part", 1})).identity);
  const std::string plain = R"({"image_url": "https://a/b", "width": 30, "height": 20})";
  EXPECT_EQ(read_image_part(parse_json(plain, {"part", 1})).size, (PixelSize{30, 20}));
}

}  // namespace
}  // namespace foretoken::image_header_test
