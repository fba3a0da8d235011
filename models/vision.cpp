#include "models/vision.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t channels = 3;  // red, green, blue

/// A grid of patches.
struct PatchGrid {
  std::int64_t high = 0, wide = 0;
  [[nodiscard]] std::int64_t count() const { return high * wide; }
};

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::floor(value)); }

/// In pixels, both sides multiples of a token's; Python's round() takes halves to even.
PatchGrid rounded_grid(const VisionEncoder& vision, double width, double height) {
  const double unit = vision.patch * vision.merge;
  const double pixels = static_cast<double>(vision.patch) * vision.patch;
  const auto units = [&](double side) { return std::max(1.0, std::nearbyint(side / unit)); };
  double high = units(height), wide = units(width);
  const double most = static_cast<double>(vision.patches_max) * pixels;
  const double least = static_cast<double>(vision.patches_min) * pixels;
  const double area = high * wide * unit * unit;
  if (vision.patches_max > 0 && area > most) {
    const double shrink = std::sqrt(height * width / most);
    high = std::max(1.0, std::floor(height / shrink / unit));
    wide = std::max(1.0, std::floor(width / shrink / unit));
  } else if (area < least) {
    const double grow = std::sqrt(least / (height * width));
    high = std::max(1.0, std::ceil(height * grow / unit));
    wide = std::max(1.0, std::ceil(width * grow / unit));
  }
  return {whole(high) * vision.merge, whole(wide) * vision.merge};
}

PatchGrid padded_grid(const VisionEncoder& vision, double width, double height) {
  const double patch = vision.patch;
  double scale = 1;
  if (vision.patches_max > 0) {
    const double patches =
        std::max(1.0, std::floor(width / patch)) * std::max(1.0, std::floor(height / patch));
    scale = std::min(scale, std::sqrt(static_cast<double>(vision.patches_max) / patches));
  }
  const double side = static_cast<double>(vision.side_max) * patch;
  if (vision.side_max > 0) scale = std::min({scale, side / width, side / height});
  const auto padded = [&](double pixels) {
    const double unit = patch * vision.merge;
    return whole(std::ceil(std::max(1.0, std::floor(pixels * scale)) / unit)) * vision.merge;
  };
  return {padded(height), padded(width)};
}

PatchGrid fitted_grid(const VisionEncoder& vision, double width, double height) {
  const double unit = vision.patch * vision.merge;
  const double pixels = static_cast<double>(vision.patches_max) * vision.patch * vision.patch;
  const double scale = std::sqrt(pixels / (width * height));
  const std::int64_t longest = vision.patches_max / (std::int64_t{vision.merge} * vision.merge);
  std::int64_t high = whole(height * scale / unit), wide = whole(width * scale / unit);
  if (high == 0) {
    high = 1;
    wide = std::min(std::max<std::int64_t>(whole(width / height), 1), longest);
  } else if (wide == 0) {
    wide = 1;
    high = std::min(std::max<std::int64_t>(whole(height / width), 1), longest);
  }
  return {high * vision.merge, wide * vision.merge};
}

/// Of the grids of at most tiles_max squares, the one that the image fits with least enlargement,
/// else with least shrinking; of equals the smallest.
PatchGrid tile_grid(const VisionEncoder& vision, double width, double height) {
  const double side = static_cast<double>(vision.side_max) * vision.patch;
  PatchGrid best;
  double best_scale = 0;
  for (std::int64_t high = 1; high <= vision.tiles_max; ++high) {
    for (std::int64_t wide = 1; high * wide <= vision.tiles_max; ++wide) {
      const double scale = std::min(static_cast<double>(wide) * side / width,
                                    static_cast<double>(high) * side / height);
      const bool enlarges = scale >= 1, best_enlarges = best_scale >= 1;
      const bool is_better = best.count() == 0 || (enlarges && !best_enlarges) ||
                             (enlarges && best_enlarges && scale < best_scale) ||
                             (!enlarges && !best_enlarges && scale > best_scale) ||
                             (scale == best_scale && high * wide < best.count());
      if (!is_better) continue;
      best = {high, wide};
      best_scale = scale;
    }
  }
  return best;
}

}  // namespace

std::int64_t VisionEncoder::attention_width() const {
  return heads > 0 ? std::int64_t{heads} * head_dim : hidden;
}

std::int64_t VisionEncoder::patch_values() const {
  return std::int64_t{patch} * patch * channels * frames;
}

std::int64_t VisionEncoder::parameters() const {
  const std::int64_t width = attention_width();
  const std::int64_t inputs = gated_mlp ? 2 : 1;
  const std::int64_t norms = 4 * hidden;
  const std::int64_t bias = biases ? 3 * width + 2 * hidden + inputs * intermediate : 0;
  std::int64_t sum =
      layers * (4 * hidden * width + (inputs + 1) * hidden * intermediate + norms + bias);
  sum += patch_values() * hidden + (biases ? hidden : 0) + positions * hidden;
  std::int64_t of_projector = 0;
  for (std::size_t i = 1; i < projector.size(); ++i)
    of_projector += projector[i] * (projector[i - 1] + (projector_bias ? 1 : 0));
  sum += (1 + deepstack) * of_projector;
  // The main projector norms patches, those of deepstack what they are merged to.
  if (projector_norm && !projector.empty()) sum += 2 * (hidden + deepstack * projector.front());
  return sum;
}

bool VisionEncoder::takes_images() const {
  return sizing != ImageSizing::unknown && layers > 0 && heads > 0 && patch > 0 &&
         projector.size() > 1;
}

ImagePatches VisionEncoder::patches_of(std::int64_t width, std::int64_t height) const {
  FORETOKEN_CHECK(takes_images() && width > 0 && height > 0, "an image of {} x {} pixels", width,
                  height);
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  const std::int64_t of_token = std::int64_t{merge} * merge;
  const auto whole_image = [&](const PatchGrid& grid) -> ImagePatches {
    return {1, grid.count(), grid.count() / of_token};
  };
  switch (sizing) {
    case ImageSizing::rounded:
      return whole_image(rounded_grid(*this, w, h));
    case ImageSizing::padded:
      return whole_image(padded_grid(*this, w, h));
    case ImageSizing::fitted:
      return {1, patches_max, fitted_grid(*this, w, h).count() / of_token};
    case ImageSizing::square:
      return whole_image({side_max, side_max});
    case ImageSizing::tiled: {
      const std::int64_t cut = tile_grid(*this, w, h).count();
      const std::int64_t tiles = cut > 1 ? cut + 1 : 1;
      const std::int64_t patches = side_max * side_max;
      return {tiles, patches, tiles * patches / of_token};
    }
    case ImageSizing::unknown:
      break;
  }
  return {};
}

std::int64_t VisionEncoder::tokens_most() const {
  const std::int64_t of_token = std::int64_t{merge} * merge;
  if (sizing == ImageSizing::tiled) {
    const std::int64_t tiles = tiles_max > 1 ? tiles_max + 1 : 1;
    return tiles * side_max * side_max / of_token;
  }
  if (sizing == ImageSizing::padded) {
    // A square; where the number of patches limits it, with what is padded.
    const std::int64_t by_side = (side_max + merge - 1) / merge;
    if (patches_max == 0) return by_side * by_side;
    const auto side = whole(std::sqrt(static_cast<double>(patches_max))) / merge + 1;
    return std::min(side, by_side) * std::min(side, by_side);
  }
  return (sizing == ImageSizing::square ? side_max * side_max : patches_max) / of_token;
}

std::int64_t VisionEncoder::values_per_token() const {
  return projector.empty() ? 0 : (1 + deepstack) * projector.back();
}

}  // namespace foretoken
