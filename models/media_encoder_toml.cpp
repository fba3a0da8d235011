#include "models/media_encoder_toml.hpp"

#include "models/model_fields.hpp"
#include "models/model_toml_kinds.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t side_limit = 100'000;        // patches or pixels on a side
constexpr std::int64_t patches_limit = 10'000'000;  // of an image
constexpr std::int64_t ms_limit = 86'400'000;       // a day

void read_projector(TableReader& table, const Transformer& model, MediaEncoder& vision) {
  std::vector<int> widths;
  if (!table.require("projector", widths)) return;
  bool is_sane = widths.size() > 1;
  for (const int width : widths) is_sane = is_sane && width >= 1 && width <= width_limit;
  table.expect(
      "projector", is_sane,
      fmt::format("must be widths from 1 to {}, from what goes in to what comes out", width_limit));
  vision.projector.assign(widths.begin(), widths.end());
  table.expect("projector", !is_sane || widths.back() == model.hidden,
               fmt::format("must end in the language model's width, {}", model.hidden));
  table.read("projector_norm", vision.projector_norm);
  table.read("projector_bias", vision.projector_bias);
  read_within(table, "deepstack", vision.deepstack, 0, layers_limit);
}

/// Each rule has its own limits.
void read_sizing(TableReader& table, MediaEncoder& vision) {
  table.read("sizing", vision.sizing);
  read_within(table, "patches_min", vision.patches_min, 0, patches_limit);
  read_within(table, "patches_max", vision.patches_max, 1, patches_limit);
  read_within(table, "side_max", vision.side_max, 1, side_limit);
  read_within(table, "tiles_max", vision.tiles_max, 1, side_limit);
  const auto needs = [&](const char* key, bool has) {
    table.expect("sizing", has, fmt::format("\"{}\" needs {}", enum_name(vision.sizing), key));
  };
  switch (vision.sizing) {
    case MediaSizing::unknown:
      return;
    case MediaSizing::rounded:
    case MediaSizing::fitted:
      return needs("patches_max", vision.patches_max > 0);
    case MediaSizing::padded:
      return needs("side_max", vision.side_max > 0);
    case MediaSizing::square:
      return needs("side_max", vision.side_max > 0);
    case MediaSizing::tiled:
      needs("side_max", vision.side_max > 0);
      needs("tiles_max", vision.tiles_max > 0);
      return;
    default:
      table.fail("sizing", fmt::format("\"{}\" is for audio; an image is rounded, padded, fitted, "
                                       "square or tiled",
                                       enum_name(vision.sizing)));
  }
}

/// The convolutions before an audio encoder's layers.
void read_front(TableReader& table, MediaEncoder& audio) {
  const Value* given = table.find("front");
  const auto* list = given == nullptr ? nullptr : std::get_if<ValueArray>(&given->data);
  if (list == nullptr || list->empty()) {
    table.fail("front",
               "must list the convolutions before the layers, such as [{ rows = 2, in = "
               "384, out = 1280 }]");
    return;
  }
  for (const Value& one : *list) {
    if (!one.is_object()) {
      table.diagnostics().add(one.position, "audio.front: each must be a table");
      continue;
    }
    TableReader reader(one, table.diagnostics(), "audio.front");
    FrontProduct& product = audio.front.emplace_back();
    require_count(reader, "rows", product.rows, patches_limit);
    require_count(reader, "in", product.in, width_limit);
    require_count(reader, "out", product.out, width_limit);
    reader.read("bias", product.bias);
    reader.finish();
  }
}

/// How clips are cut: every rule has pieces.
void read_clips(TableReader& table, MediaEncoder& audio) {
  require_count(table, "patch_ms", audio.patch_ms, ms_limit);
  require_count(table, "piece_ms", audio.piece_ms, ms_limit);
  require_count(table, "piece_patches", audio.piece_patches, patches_limit);
  read_within(table, "clip_ms_max", audio.clip_ms_max, 0, ms_limit);
  read_within(table, "window", audio.window, 0, side_limit);
  table.read("sizing", audio.sizing);
  const bool is_of_clips = audio.sizing == MediaSizing::stream ||
                           audio.sizing == MediaSizing::pieces ||
                           audio.sizing == MediaSizing::padded_pieces;
  table.expect("sizing", is_of_clips, "must be stream, pieces or padded_pieces");
  table.read("key_bias", audio.key_bias);
  read_within(table, "convolution", audio.convolution, 0, width_limit);
}

void read_window(TableReader& table, MediaEncoder& vision) {
  read_within(table, "window", vision.window, 0, side_limit);
  table.read("full_layers", vision.full_layers);
  for (const int layer : vision.full_layers) {
    table.expect("full_layers", layer >= 0 && layer < vision.layers,
                 fmt::format("names layer {} of {}", layer, vision.layers));
  }
}

/// What encoders of both kinds have.
void read_layers(TableReader& table, MediaEncoder& encoder) {
  require_count(table, "layers", encoder.layers, layers_limit);
  require_count(table, "hidden", encoder.hidden, width_limit);
  require_count(table, "intermediate", encoder.intermediate, width_limit);
  if (read_within(table, "heads", encoder.heads, 1, heads_limit))
    require_count(table, "head_dim", encoder.head_dim, head_dim_limit);
  read_within(table, "positions", encoder.positions, 0, patches_limit);
  table.read("gated_mlp", encoder.gated_mlp);
  table.read("biases", encoder.biases);
  read_within(table, "merge", encoder.merge, 1, side_limit);
}

void read_vision(TableReader& table, const Transformer& model, MediaEncoder& vision) {
  read_layers(table, vision);
  require_count(table, "patch", vision.patch, side_limit);
  read_within(table, "frames", vision.frames, 1, side_limit);
  read_window(table, vision);
  read_projector(table, model, vision);
  read_sizing(table, vision);
  table.expect("sizing", vision.sizing == MediaSizing::unknown || vision.heads > 0,
               "has an effect only with heads and head_dim");
  table.finish();
}

void read_audio(TableReader& table, const Transformer& model, MediaEncoder& audio) {
  audio.medium = Medium::audio;
  read_layers(table, audio);
  table.expect("heads", audio.heads > 0, "is missing");
  read_front(table, audio);
  read_projector(table, model, audio);
  read_clips(table, audio);
  table.finish();
}

Value written(const MediaEncoder& encoder) {
  Value own;
  own.set("layers", encoder.layers);
  own.set("hidden", encoder.hidden);
  own.set("intermediate", encoder.intermediate);
  if (encoder.heads > 0) {
    own.set("heads", encoder.heads);
    own.set("head_dim", encoder.head_dim);
  }
  set_if(own, "patch", std::int64_t{encoder.patch});
  if (encoder.frames > 1) own.set("frames", encoder.frames);
  set_if(own, "positions", encoder.positions);
  set_if(own, "gated_mlp", encoder.gated_mlp);
  if (!encoder.biases) own.set("biases", false);
  if (!encoder.key_bias) own.set("key_bias", false);
  set_if(own, "convolution", std::int64_t{encoder.convolution});
  set_if(own, "window", std::int64_t{encoder.window});
  if (!encoder.full_layers.empty())
    own.set("full_layers", ValueArray(encoder.full_layers.begin(), encoder.full_layers.end()));
  if (encoder.merge > 1) own.set("merge", encoder.merge);
  own.set("projector", ValueArray(encoder.projector.begin(), encoder.projector.end()));
  set_if(own, "projector_norm", encoder.projector_norm);
  set_if(own, "projector_bias", encoder.projector_bias);
  set_if(own, "deepstack", std::int64_t{encoder.deepstack});
  if (encoder.sizing != MediaSizing::unknown)
    own.set("sizing", std::string(enum_name(encoder.sizing)));
  set_if(own, "patches_min", encoder.patches_min);
  set_if(own, "patches_max", encoder.patches_max);
  set_if(own, "side_max", encoder.side_max);
  set_if(own, "tiles_max", std::int64_t{encoder.tiles_max});
  set_if(own, "patch_ms", encoder.patch_ms);
  set_if(own, "piece_ms", encoder.piece_ms);
  set_if(own, "piece_patches", encoder.piece_patches);
  set_if(own, "clip_ms_max", encoder.clip_ms_max);
  ValueArray front;
  for (const FrontProduct& product : encoder.front) {
    Value one;
    one.set("rows", product.rows);
    one.set("in", product.in);
    one.set("out", product.out);
    if (!product.bias) one.set("bias", false);
    front.emplace_back(std::move(one));
  }
  if (!front.empty()) own.set("front", std::move(front));
  return own;
}

}  // namespace

void read_encoders(TableReader& parent, Transformer& model) {
  if (const Value* given = parent.find_table("vision")) {
    TableReader table(*given, parent.diagnostics(), "vision");
    read_vision(table, model, model.vision.emplace());
  }
  if (const Value* given = parent.find_table("audio")) {
    TableReader table(*given, parent.diagnostics(), "audio");
    read_audio(table, model, model.audio.emplace());
  }
}

void write_encoders(Value& table, const Transformer& model) {
  if (model.vision) table.set("vision", written(*model.vision));
  if (model.audio) table.set("audio", written(*model.audio));
}

}  // namespace foretoken
