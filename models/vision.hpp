// The encoder of a multimodal model: a transformer over the patches of an image and a projector
// that makes tokens of the language model's width of them, and the rules by which models cut images
// of any size into patches. What it leaves out: how pixels are resized, videos, sound.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"

namespace foretoken {

/// How an image becomes patches. Each rule is its model's published image processor's.
///   unknown  nobody has said; requests cannot have images
///   rounded  sides to the nearest multiple of a token's, then scaled into patches_min and
///            patches_max (Qwen2-VL to Qwen3.5: transformers, smart_resize)
///   padded   shrunk to patches_max in all and side_max on a side, never enlarged, then padded to
///            whole tokens (Kimi: media_utils.py, navit_resize_image; Pixtral, where only side_max
///            counts)
///   fitted   scaled, up too, to as many whole tokens as patches_max allows; the encoder runs on
///            patches_max whatever comes of it (Gemma 4: transformers, image_processing_gemma4)
///   square   to a square of side_max, whatever its shape (Gemma 3, SigLIP)
///   tiled    onto the grid of squares of side_max that wastes least, at most tiles_max, and as a
///            whole once more if they are several (Llama 4: transformers, image_processing_llama4)
enum class ImageSizing { unknown, rounded, padded, fitted, square, tiled };
template <>
struct EnumNames<ImageSizing> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"unknown", "rounded", "padded", "fitted", "square", "tiled"});
};

/// An image as an encoder sees it.
struct ImagePatches {
  std::int64_t tiles = 1;    // sequences, within which patches attend to each other
  std::int64_t patches = 0;  // of each
  std::int64_t tokens = 0;   // of the language model, all tiles together
  friend auto operator<=>(const ImagePatches&, const ImagePatches&) = default;

  [[nodiscard]] std::int64_t all_patches() const { return tiles * patches; }
};

struct VisionEncoder {
  int layers = 0;
  std::int64_t hidden = 0, intermediate = 0;
  int heads = 0, head_dim = 0;  // 0 = not known: no kernels, and projections as wide as `hidden`
  int patch = 0;                // pixels on a side
  int frames = 1;               // of which a patch is made: an image is repeated (Qwen)
  std::int64_t positions = 0;   // learned position embeddings
  bool gated_mlp = false, biases = true;
  int window = 0;                // patches on a side of what attention sees; 0 = the whole image
  std::vector<int> full_layers;  // with a window: layers without
  int merge = 1;                 // patches on a side that become one token
  /// Widths from layer to layer of what makes tokens of patches: of what goes in (`hidden` once or
  /// merge x merge times) up to the language model's.
  std::vector<std::int64_t> projector;
  bool projector_norm = false, projector_bias = false;
  /// Layers whose output joins the language model's layers too, each through a projector of its own
  /// (Qwen3-VL's deepstack).
  int deepstack = 0;
  ImageSizing sizing = ImageSizing::unknown;
  std::int64_t patches_min = 0, patches_max = 0, side_max = 0;  // 0 = no limit
  int tiles_max = 0;

  /// Width of all heads together.
  [[nodiscard]] std::int64_t attention_width() const;
  /// Values of a patch's pixels, red, green and blue, in all its frames.
  [[nodiscard]] std::int64_t patch_values() const;
  [[nodiscard]] std::int64_t parameters() const;
  /// Whether images can be asked of it: sizes, heads and the rule are known.
  [[nodiscard]] bool takes_images() const;
  /// Of an image of `width` x `height` pixels, each at least 1. Needs takes_images().
  [[nodiscard]] ImagePatches patches_of(std::int64_t width, std::int64_t height) const;
  /// The most tokens that an image of usual shape becomes: what engines reserve room for.
  [[nodiscard]] std::int64_t tokens_most() const;
  /// Values that the language model gets for a token of an image.
  [[nodiscard]] std::int64_t values_per_token() const;
  friend bool operator==(const VisionEncoder&, const VisionEncoder&) = default;
};

}  // namespace foretoken
