// Encoders of audio beside a language model, from "audio_config". Sources: transformers'
// configuration and modeling files of whisper, qwen2_audio, qwen2_5_omni, qwen3_omni_moe, voxtral
// and gemma4; what a processor cuts off: the models' preprocessor_config.json. Spectrograms have a
// frame every 10 ms.
#include <algorithm>

#include "models/hugging_face/encoder.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t frame_ms = 10;
constexpr std::int64_t whisper_piece_ms = 30'000;

/// An "audio_config" while it is read.
struct AudioReader {
  TableReader& table;
  const ConfigReader& config;
  MediaEncoder& audio;
  std::string type;  // its "model_type"

  [[nodiscard]] bool is(std::string_view family) const { return type.starts_with(family); }
  /// `fallback` where there is none, as the class has it.
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t fallback) const {
    std::int64_t value = fallback;
    read_within(table, key, value, 1, width_limit);
    return value;
  }
  /// The same under Whisper's name or that of other encoders.
  [[nodiscard]] std::int64_t count(std::string_view key, std::string_view other,
                                   std::int64_t fallback) const {
    return count(key, count(other, fallback));
  }
};

std::int64_t halved(std::int64_t frames) { return (frames + 1) / 2; }

/// Whisper's large encoders, which all but Gemma's are made after.
void read_whisper_layers(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  audio.hidden = reader.count("d_model", "hidden_size", 1280);
  audio.layers = static_cast<int>(reader.count("encoder_layers", "num_hidden_layers", 32));
  audio.heads =
      static_cast<int>(reader.count("encoder_attention_heads", "num_attention_heads", 20));
  audio.head_dim = static_cast<int>(audio.hidden / audio.heads);
  audio.intermediate = reader.count("encoder_ffn_dim", "intermediate_size", 5120);
  audio.projector_norm = true;  // behind the layers
}

/// Two convolutions over three frames or positions, the second with every other one: 20 ms a patch.
void set_whisper_front(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  const std::int64_t bins = reader.count("num_mel_bins", 128);
  audio.front = {{.rows = 2, .in = 3 * bins, .out = audio.hidden},
                 {.rows = 1, .in = 3 * audio.hidden, .out = audio.hidden}};
  audio.patch_ms = 2 * frame_ms;
  audio.key_bias = false;
}

void set_whisper_pieces(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  audio.positions = reader.count("max_source_positions", 1500);
  audio.piece_patches = audio.positions;
  audio.piece_ms = audio.positions * audio.patch_ms;
}

/// Whisper's encoder on 30 s, whatever there is of them; two positions become a token.
void set_qwen2_audio(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  set_whisper_front(reader);
  set_whisper_pieces(reader);
  audio.sizing = MediaSizing::pieces;
  audio.clip_ms_max = whisper_piece_ms;
  audio.merge = 2;
  audio.projector = {audio.hidden, reader.config.model.hidden};
  audio.projector_bias = true;
}

/// All of what the padded pieces become goes to the language model, four positions a token.
void set_voxtral(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  const std::int64_t text = reader.config.model.hidden;
  set_whisper_front(reader);
  set_whisper_pieces(reader);
  audio.sizing = MediaSizing::padded_pieces;
  audio.merge = 4;
  audio.projector = {audio.merge * audio.hidden, text, text};
}

/// Pieces of 2 s, within which positions attend to each other.
void set_qwen2_omni(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  set_whisper_front(reader);
  const std::int64_t frames = 2 * reader.count("n_window", 100);
  audio.sizing = MediaSizing::stream;
  audio.piece_ms = frames * frame_ms;
  audio.piece_patches = halved(frames);
  audio.window = static_cast<int>(audio.piece_patches);
  audio.merge = 2;
  audio.projector = {audio.hidden, reader.count("output_dim", 3584)};
  audio.projector_bias = true;
}

/// Three convolutions of 3 x 3, each with every other frame and frequency, over pieces of 1 s;
/// attention sees several of these.
void set_qwen3_omni(AudioReader& reader) {
  MediaEncoder& audio = reader.audio;
  const std::int64_t width = reader.count("downsample_hidden_size", 480);
  std::int64_t bins = reader.count("num_mel_bins", 128), frames = 8;
  audio.patch_ms = frames * frame_ms;
  std::int64_t in = 9;
  for (int i = 0; i < 3; ++i) {
    bins = halved(bins);
    frames /= 2;
    audio.front.push_back({.rows = frames * bins, .in = in, .out = width});
    in = 9 * width;
  }
  audio.front.push_back({.rows = 1, .in = width * bins, .out = audio.hidden, .bias = false});
  const std::int64_t piece = 2 * reader.count("n_window", 50);
  audio.sizing = MediaSizing::stream;
  audio.piece_ms = piece * frame_ms;
  audio.piece_patches = halved(halved(halved(piece)));
  const std::int64_t pieces =
      std::max<std::int64_t>(1, reader.count("n_window_infer", 800) / piece);
  audio.window = static_cast<int>(std::min(width_limit, pieces * audio.piece_patches));
  audio.projector = {audio.hidden, audio.hidden, reader.count("output_dim", 3584)};
  audio.projector_bias = true;
}

/// A conformer behind two convolutions of 3 x 3, each with every other frame and frequency of 128:
/// 40 ms a token, 30 s at most. Attention goes back as far as its context, piece by piece.
void read_gemma4_audio(AudioReader& reader) {
  constexpr std::int64_t bins = 128;
  MediaEncoder& audio = reader.audio;
  audio.hidden = reader.count("hidden_size", 1024);
  audio.layers = static_cast<int>(reader.count("num_hidden_layers", 12));
  audio.heads = static_cast<int>(reader.count("num_attention_heads", 8));
  audio.head_dim = static_cast<int>(audio.hidden / audio.heads);
  audio.intermediate = 4 * audio.hidden;
  audio.biases = false;
  audio.convolution = static_cast<int>(reader.count("conv_kernel_size", 5));
  std::vector<int> channels = {128, 32};
  reader.table.read("subsampling_conv_channels", channels);
  reader.table.expect("subsampling_conv_channels",
                      channels.size() == 2 && std::ranges::min(channels) > 0,
                      "must be the widths of two convolutions");
  if (channels.size() != 2) channels = {128, 32};
  audio.front = {{.rows = 2 * halved(bins), .in = 9, .out = channels[0], .bias = false},
                 {.rows = bins / 4, .in = 9 * channels[0], .out = channels[1], .bias = false},
                 {.rows = 1, .in = channels[1] * (bins / 4), .out = audio.hidden, .bias = false}};
  audio.window = static_cast<int>(reader.count("attention_chunk_size", 12) +
                                  reader.count("attention_context_left", 13) - 1);
  audio.sizing = MediaSizing::stream;
  audio.patch_ms = audio.piece_ms = 4 * frame_ms;
  audio.piece_patches = 1;
  audio.clip_ms_max = whisper_piece_ms;
  audio.projector = {audio.hidden, reader.count("output_proj_dims", 1536),
                     reader.config.model.hidden};
}

/// Whether the encoder is one of those that are known.
bool read_audio_family(AudioReader& reader) {
  if (reader.is("gemma4")) {
    read_gemma4_audio(reader);
    return true;
  }
  read_whisper_layers(reader);
  if (reader.is("qwen2_audio")) {
    set_qwen2_audio(reader);
  } else if (reader.is("voxtral")) {
    set_voxtral(reader);
  } else if (reader.is("qwen2_5_omni")) {
    set_qwen2_omni(reader);
  } else if (reader.is("qwen3_omni")) {
    set_qwen3_omni(reader);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void read_audio_tower(ConfigReader& config, std::string_view family) {
  const Value* given = config.config.find("audio_config");
  if (given == nullptr || !given->is_object()) return;
  TableReader table(*given, config.table.diagnostics(), "audio_config");
  Transformer& model = config.model;
  MediaEncoder audio;
  audio.medium = Medium::audio;
  AudioReader reader{table, config, audio, std::string(family)};
  table.read("model_type", reader.type);
  const bool is_known = read_audio_family(reader);
  if (is_known && audio.head_dim > 0 && audio.projector.back() == model.hidden) {
    model.audio = audio;
    return;
  }
  model.left_out.push_back(
      fmt::format("audio: neither the memory nor the work of its encoder ({}) is counted, and "
                  "requests cannot have audio",
                  reader.type));
}

}  // namespace foretoken
