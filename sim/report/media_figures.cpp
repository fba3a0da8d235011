#include "sim/report/media_figures.hpp"

#include <fmt/format.h>

#include "sim/base/unit_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {

std::vector<std::string> media_parts(const MediaFigures& media) {
  std::vector<std::string> parts = {
      fmt::format("{} of {} tokens", grouped(media.reached), grouped(media.tokens_mean, 0)),
      percent(media.cache_hit_rate) + " in the encoder cache",
      fmt::format("encoding {}, {} of GPU time", duration(media.encoder_s),
                  percent(media.encoder_share))};
  if (media.sent_bytes > 0) parts.push_back(readable(Bytes(media.sent_bytes)) + " sent");
  return parts;
}

}  // namespace foretoken
