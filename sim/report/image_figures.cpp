#include "sim/report/image_figures.hpp"

#include <fmt/format.h>

#include "sim/base/unit_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {

std::vector<std::string> image_parts(const ImageFigures& images) {
  std::vector<std::string> parts = {
      fmt::format("{} of {} tokens", grouped(images.reached), grouped(images.tokens_mean, 0)),
      percent(images.cache_hit_rate) + " in the encoder cache",
      fmt::format("encoding {}, {} of GPU time", duration(images.encoder_s),
                  percent(images.encoder_share))};
  if (images.sent_bytes > 0) parts.push_back(readable(Bytes(images.sent_bytes)) + " sent");
  return parts;
}

}  // namespace foretoken
