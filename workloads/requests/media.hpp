// The images and audio clips of requests: `images = { count = 2, width = 1280, height = 720,
// repeated = 0.3 }` and `audio = { count = 1, duration = "12 s" }` of the [workload] table. How
// many tokens they become is the model's encoder's (models/media_encoder.hpp). They stand behind
// the text of the prompt, as vLLM's benchmark sends them, one behind the other, images first; the
// few tokens that models put around one are not counted. A turn of a conversation and a call of an
// agent bring their own, and later ones have these too; a context that is cut has lost them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {

/// Images or clips.
struct MediumTraffic {
  std::shared_ptr<const LengthDistribution>
      count;  // of a request that has any; null: there are none
  std::shared_ptr<const LengthDistribution> width, height;  // of images, in pixels
  TimeDistribution duration;                                // of clips
  double share = 1;                                         // of the requests that have any
  double repeated = 0;  // of them, those that are one of `different`
  std::int64_t different = 100;
  MediaEncoder encoder = {};  // that cuts them

  [[nodiscard]] bool empty() const { return count == nullptr; }
};

struct MediaTraffic {
  MediumTraffic images, audio;

  [[nodiscard]] bool empty() const { return images.empty() && audio.empty(); }
};

/// Adds images and clips to requests, one after the other. Streams: "images", "repeated_images",
/// "audio", "repeated_audio".
class MediaDraws {
 public:
  MediaDraws(const MediaTraffic& traffic, const RandomStreams& random);
  /// Draws nothing without media. What the prompt shares with others it shares up to these: hashes
  /// of blocks behind the text go.
  void give(Request& request);

 private:
  /// Of one medium.
  struct Draws {
    MediumTraffic traffic;
    RandomStream random;
    std::vector<MediaPatches> known = {};  // those that are repeated, by number
    std::uint64_t new_ones = 0;
  };
  void add(const MediumTraffic& traffic, const RandomStreams& random, const char* stream,
           const char* repeated_stream);
  static void give(Draws& draws, Request& request);
  static MediaItem draw(Draws& draws);

  std::vector<Draws> draws_;
};

std::vector<KeyNote> media_notes();
std::vector<KeyTable> media_key_tables();
/// Reads `images` and `audio`; absent means none. Reports mistakes, among them that the model has
/// no encoder for them.
MediaTraffic read_media(TableReader& workload, const std::optional<MediaEncoder>& vision,
                        const std::optional<MediaEncoder>& audio, const LengthRegistry& lengths);
/// Sets the keys of those that there are.
void describe(const MediaTraffic& media, Value& workload);

}  // namespace foretoken
