// The images of requests: `images = { count = 2, width = 1280, height = 720, repeated = 0.3 }` of
// the [workload] table. How many tokens they become is the model's encoder's (models/vision.hpp).
// They stand behind the text of the prompt, as vLLM's benchmark sends them, one behind the other;
// the few tokens that models put around an image are not counted. A turn of a conversation and a
// call of an agent bring their own, and later ones have these too; a context that is cut has lost
// them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

struct ImageTraffic {
  std::shared_ptr<const LengthDistribution>
      count;  // of a request with images; null: there are none
  std::shared_ptr<const LengthDistribution> width, height;  // in pixels
  double share = 1;                                         // of the requests that have images
  double repeated = 0;  // of the images, those that are one of `different`
  std::int64_t different = 100;
  VisionEncoder encoder = {};  // that cuts them

  [[nodiscard]] bool empty() const { return count == nullptr; }
};

/// Adds images to requests, one after the other. Streams: "images", "repeated_images".
class ImageDraws {
 public:
  ImageDraws(const ImageTraffic& traffic, const RandomStreams& random);
  /// Draws nothing without images. What the prompt shares with others it shares up to the images:
  /// hashes of blocks behind the text go.
  void give(Request& request);

 private:
  PromptImage draw();
  [[nodiscard]] ImagePatches size(RandomStream& random) const;

  ImageTraffic traffic_;
  RandomStream random_;
  std::vector<ImagePatches> known_;  // those that are repeated, by number
  std::uint64_t new_ones_ = 0;
};

KeyNote images_note();
KeyTable image_key_table();
/// Reads `images`; absent means none. Reports mistakes, among them that `vision` takes none.
ImageTraffic read_images(TableReader& workload, const std::optional<VisionEncoder>& vision,
                         const LengthRegistry& lengths);
/// Sets the key if there are images.
void describe(const ImageTraffic& images, Value& workload);

}  // namespace foretoken
