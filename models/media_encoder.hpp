// The encoder of a multimodal model: a transformer over the patches of an image or an audio clip
// and a projector that makes tokens of the language model's width of them, and the rules by which
// models cut images of any size, and clips of any length, into patches. What it leaves out: how
// pixels are resized, how spectrograms are made, videos.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"

namespace foretoken {

enum class Medium : std::uint8_t { image, audio };
template <>
struct EnumNames<Medium> {
  static constexpr auto names = std::to_array<std::string_view>({"image", "audio"});
};
inline constexpr auto all_media = std::to_array<Medium>({Medium::image, Medium::audio});

/// How an image or an audio clip becomes patches. Each rule is its model's published processor's.
///   unknown  nobody has said; requests cannot have any
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
/// Of audio, which is cut into pieces of piece_ms that are piece_patches each:
///   stream         the last piece is as long as it is (Qwen2.5-Omni, Qwen3-Omni, Gemma 4)
///   pieces         the encoder runs on whole pieces, the last one padded; padding becomes no token
///                  (Whisper's encoder in Qwen2-Audio)
///   padded_pieces  and padding becomes tokens too (Voxtral)
enum class MediaSizing {
  unknown,
  rounded,
  padded,
  fitted,
  square,
  tiled,
  stream,
  pieces,
  padded_pieces
};
template <>
struct EnumNames<MediaSizing> {
  static constexpr auto names =
      std::to_array<std::string_view>({"unknown", "rounded", "padded", "fitted", "square", "tiled",
                                       "stream", "pieces", "padded_pieces"});
};

/// An image or an audio clip as an encoder sees it.
struct MediaPatches {
  std::int64_t tiles = 1;    // sequences, within which patches attend to each other
  std::int64_t patches = 0;  // of each
  std::int64_t tokens = 0;   // of the language model, all tiles together
  Medium medium = Medium::image;
  friend auto operator<=>(const MediaPatches&, const MediaPatches&) = default;

  [[nodiscard]] std::int64_t all_patches() const { return tiles * patches; }
};

/// A convolution before an encoder's layers as the product that it is: `rows` of it make a patch,
/// each of `in` values (channels times the kernel's size) to `out`.
struct FrontProduct {
  std::int64_t rows = 1, in = 0, out = 0;
  bool bias = true;
  friend bool operator==(const FrontProduct&, const FrontProduct&) = default;
};

struct MediaEncoder {
  Medium medium = Medium::image;
  int layers = 0;
  std::int64_t hidden = 0, intermediate = 0;
  int heads = 0, head_dim = 0;  // 0 = not known: no kernels, and projections as wide as `hidden`
  int patch = 0;                // images: pixels on a side
  int frames = 1;               // of which a patch is made: an image is repeated (Qwen)
  std::int64_t positions = 0;   // learned position embeddings
  bool gated_mlp = false, biases = true;
  bool key_bias = true;  // with biases: the keys' product has one too (not in Whisper)
  /// Conformers (Gulati et al. 2020): a second MLP before attention, and a gated convolution of so
  /// many patches in each channel behind it; 0 = a plain transformer.
  int convolution = 0;
  /// Audio: what comes before the layers, in place of one product of a patch's pixels.
  std::vector<FrontProduct> front;
  /// What attention sees: patches on a side of an image, patches of a clip; 0 = all of it.
  int window = 0;
  std::vector<int> full_layers;  // with a window: layers without
  int merge = 1;  // patches that become one token: on a side of an image, of a clip in a row
  /// Widths from layer to layer of what makes tokens of patches: of what goes in (`hidden` once or
  /// merge x merge times) up to the language model's.
  std::vector<std::int64_t> projector;
  bool projector_norm = false, projector_bias = false;
  /// Layers whose output joins the language model's layers too, each through a projector of its own
  /// (Qwen3-VL's deepstack).
  int deepstack = 0;
  MediaSizing sizing = MediaSizing::unknown;
  std::int64_t patches_min = 0, patches_max = 0, side_max = 0;  // 0 = no limit
  int tiles_max = 0;
  /// Audio, in ms: a patch, a piece, and what is cut off behind (0 = nothing).
  std::int64_t patch_ms = 0, piece_ms = 0, piece_patches = 0, clip_ms_max = 0;

  /// Width of all heads together.
  [[nodiscard]] std::int64_t attention_width() const;
  /// Values of a patch's pixels, red, green and blue, in all its frames; 0 of audio.
  [[nodiscard]] std::int64_t patch_values() const;
  [[nodiscard]] std::int64_t parameters() const;
  /// Whether requests can bring what it encodes: sizes, heads and the rule are known.
  [[nodiscard]] bool takes_media() const;
  /// Of an image of `width` x `height` pixels, each at least 1. Needs takes_media().
  [[nodiscard]] MediaPatches patches_of(std::int64_t width, std::int64_t height) const;
  /// Of an audio clip of `ms` milliseconds, at least 1. Needs takes_media().
  [[nodiscard]] MediaPatches patches_of_clip(std::int64_t ms) const;
  /// The most tokens that an image of usual shape becomes, or the longest clip (where clips have no
  /// limit, one piece): what engines reserve room for.
  [[nodiscard]] std::int64_t tokens_most() const;
  [[nodiscard]] std::int64_t patches_per_token() const;
  /// Values that the language model gets for a token.
  [[nodiscard]] std::int64_t values_per_token() const;
  friend bool operator==(const MediaEncoder&, const MediaEncoder&) = default;
};

}  // namespace foretoken
