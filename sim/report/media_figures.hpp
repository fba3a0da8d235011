// What a run says of the images, or the audio clips, that requests had.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken {

struct MediaFigures {
  std::int64_t reached = 0;       // that steps came to, in all pools; again once preempted
  double tokens_mean = 0;         // of the language model, of one
  double cache_hit_rate = 0;      // of these, share that an encoder cache still had, 0 to 1
  std::int64_t cache_tokens = 0;  // room of an attention rank's cache, for both
  double encoder_s = 0;           // GPU time of encoding, by which steps were longer
  double encoder_share = 0;       // of all GPU time, 0 to 1
  double sent_bytes = 0;          // from pools that encode to those that serve; 0 = there are none
};

/// For a line of the terminal's table.
std::vector<std::string> media_parts(const MediaFigures& media);

}  // namespace foretoken
