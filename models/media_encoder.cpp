#include "models/media_encoder.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t channels = 3;  // red, green, blue
/// What engines reserve room for where clips have no limit: Qwen's Omni models say so
/// (preprocessor_config.json, "chunk_length": 300).
constexpr std::int64_t usual_clip_ms_max = 300'000;

/// A grid of patches.
struct PatchGrid {
  std::int64_t high = 0, wide = 0;
  [[nodiscard]] std::int64_t count() const { return high * wide; }
};

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::floor(value)); }

/// In pixels, both sides multiples of a token's; Python's round() takes halves to even.
PatchGrid rounded_grid(const MediaEncoder& vision, double width, double height) {
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

PatchGrid padded_grid(const MediaEncoder& vision, double width, double height) {
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

PatchGrid fitted_grid(const MediaEncoder& vision, double width, double height) {
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
PatchGrid tile_grid(const MediaEncoder& vision, double width, double height) {
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

std::int64_t MediaEncoder::attention_width() const {
  return heads > 0 ? std::int64_t{heads} * head_dim : hidden;
}

std::int64_t MediaEncoder::patch_values() const {
  return std::int64_t{patch} * patch * channels * frames;
}

std::int64_t MediaEncoder::parameters() const {
  const std::int64_t width = attention_width();
  const std::int64_t inputs = gated_mlp ? 2 : 1;
  const std::int64_t mlp = (inputs + 1) * hidden * intermediate;
  const std::int64_t bias =
      biases ? (key_bias ? 3 : 2) * width + 2 * hidden + inputs * intermediate : 0;
  std::int64_t layer = 4 * hidden * width + mlp + 4 * hidden + bias;
  if (convolution > 0) layer += mlp + hidden * (width + 3 * hidden + convolution + 5) + head_dim;
  std::int64_t sum = layers * layer + positions * hidden;
  if (medium == Medium::image) sum += patch_values() * hidden + (biases ? hidden : 0);
  for (const FrontProduct& product : front)
    sum += product.out * (product.in + (product.bias ? 1 : 0));
  std::int64_t of_projector = 0;
  for (std::size_t i = 1; i < projector.size(); ++i)
    of_projector += projector[i] * (projector[i - 1] + (projector_bias ? 1 : 0));
  sum += (1 + deepstack) * of_projector;
  // The main projector norms patches, those of deepstack what they are merged to.
  if (projector_norm && !projector.empty()) sum += 2 * (hidden + deepstack * projector.front());
  return sum;
}

bool MediaEncoder::takes_media() const {
  return sizing != MediaSizing::unknown && layers > 0 && heads > 0 && (patch > 0 || patch_ms > 0) &&
         projector.size() > 1;
}

MediaPatches MediaEncoder::patches_of(std::int64_t width, std::int64_t height) const {
  FORETOKEN_CHECK(takes_media() && width > 0 && height > 0, "an image of {} x {} pixels", width,
                  height);
  FORETOKEN_CHECK(medium == Medium::image, "an image for an encoder of audio");
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  const std::int64_t of_token = patches_per_token();
  const auto whole_image = [&](const PatchGrid& grid) -> MediaPatches {
    return {1, grid.count(), grid.count() / of_token};
  };
  switch (sizing) {
    case MediaSizing::rounded:
      return whole_image(rounded_grid(*this, w, h));
    case MediaSizing::padded:
      return whole_image(padded_grid(*this, w, h));
    case MediaSizing::fitted:
      return {1, patches_max, fitted_grid(*this, w, h).count() / of_token};
    case MediaSizing::square:
      return whole_image({side_max, side_max});
    case MediaSizing::tiled: {
      const std::int64_t cut = tile_grid(*this, w, h).count();
      const std::int64_t tiles = cut > 1 ? cut + 1 : 1;
      const std::int64_t patches = side_max * side_max;
      return {tiles, patches, tiles * patches / of_token};
    }
    default:
      break;
  }
  return {};
}

/// Tokens are of whole groups of patches, and at least one.
MediaPatches MediaEncoder::patches_of_clip(std::int64_t ms) const {
  FORETOKEN_CHECK(takes_media() && medium == Medium::audio && ms > 0, "a clip of {} ms", ms);
  if (clip_ms_max > 0) ms = std::min(ms, clip_ms_max);
  const std::int64_t whole_pieces = ms / piece_ms, rest = ms % piece_ms;
  const std::int64_t of_rest = std::min(piece_patches, (rest + patch_ms - 1) / patch_ms);
  const std::int64_t patches = whole_pieces * piece_patches + of_rest;
  const std::int64_t pieces = whole_pieces + (rest > 0 ? 1 : 0);
  const auto tokens = [&](std::int64_t of) { return std::max<std::int64_t>(1, of / merge); };
  if (sizing == MediaSizing::stream) return {1, patches, tokens(patches), Medium::audio};
  const bool is_padded = sizing == MediaSizing::padded_pieces;
  return {pieces, piece_patches, is_padded ? pieces * tokens(piece_patches) : tokens(patches),
          Medium::audio};
}

std::int64_t MediaEncoder::patches_per_token() const {
  return medium == Medium::image ? std::int64_t{merge} * merge : merge;
}

std::int64_t MediaEncoder::tokens_most() const {
  if (medium == Medium::audio)
    return patches_of_clip(clip_ms_max > 0 ? clip_ms_max : usual_clip_ms_max).tokens;
  const std::int64_t of_token = patches_per_token();
  if (sizing == MediaSizing::tiled) {
    const std::int64_t tiles = tiles_max > 1 ? tiles_max + 1 : 1;
    return tiles * side_max * side_max / of_token;
  }
  if (sizing == MediaSizing::padded) {
    // A square; where the number of patches limits it, with what is padded.
    const std::int64_t by_side = (side_max + merge - 1) / merge;
    if (patches_max == 0) return by_side * by_side;
    const auto side = whole(std::sqrt(static_cast<double>(patches_max))) / merge + 1;
    return std::min(side, by_side) * std::min(side, by_side);
  }
  return (sizing == MediaSizing::square ? side_max * side_max : patches_max) / of_token;
}

std::int64_t MediaEncoder::values_per_token() const {
  return projector.empty() ? 0 : (1 + deepstack) * projector.back();
}

}  // namespace foretoken
