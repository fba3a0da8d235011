#include "models/vision_toml.hpp"

#include "models/model_fields.hpp"
#include "models/model_toml_kinds.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t side_limit = 100'000;        // patches or pixels on a side
constexpr std::int64_t patches_limit = 10'000'000;  // of an image

void read_projector(TableReader& table, const Transformer& model, VisionEncoder& vision) {
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
void read_sizing(TableReader& table, VisionEncoder& vision) {
  table.read("sizing", vision.sizing);
  read_within(table, "patches_min", vision.patches_min, 0, patches_limit);
  read_within(table, "patches_max", vision.patches_max, 1, patches_limit);
  read_within(table, "side_max", vision.side_max, 1, side_limit);
  read_within(table, "tiles_max", vision.tiles_max, 1, side_limit);
  const auto needs = [&](const char* key, bool has) {
    table.expect("sizing", has, fmt::format("\"{}\" needs {}", enum_name(vision.sizing), key));
  };
  switch (vision.sizing) {
    case ImageSizing::unknown:
      return;
    case ImageSizing::rounded:
    case ImageSizing::fitted:
      return needs("patches_max", vision.patches_max > 0);
    case ImageSizing::padded:
      return needs("side_max", vision.side_max > 0);
    case ImageSizing::square:
      return needs("side_max", vision.side_max > 0);
    case ImageSizing::tiled:
      needs("side_max", vision.side_max > 0);
      needs("tiles_max", vision.tiles_max > 0);
  }
}

void read_window(TableReader& table, VisionEncoder& vision) {
  read_within(table, "window", vision.window, 0, side_limit);
  table.read("full_layers", vision.full_layers);
  for (const int layer : vision.full_layers) {
    table.expect("full_layers", layer >= 0 && layer < vision.layers,
                 fmt::format("names layer {} of {}", layer, vision.layers));
  }
}

}  // namespace

void read_vision(TableReader& parent, Transformer& model) {
  const Value* given = parent.find_table("vision");
  if (given == nullptr) return;
  TableReader table(*given, parent.diagnostics(), "vision");
  VisionEncoder& vision = model.vision.emplace();
  require_count(table, "layers", vision.layers, layers_limit);
  require_count(table, "hidden", vision.hidden, width_limit);
  require_count(table, "intermediate", vision.intermediate, width_limit);
  if (read_within(table, "heads", vision.heads, 1, heads_limit))
    require_count(table, "head_dim", vision.head_dim, head_dim_limit);
  require_count(table, "patch", vision.patch, side_limit);
  read_within(table, "frames", vision.frames, 1, side_limit);
  read_within(table, "positions", vision.positions, 0, patches_limit);
  table.read("gated_mlp", vision.gated_mlp);
  table.read("biases", vision.biases);
  read_window(table, vision);
  read_within(table, "merge", vision.merge, 1, side_limit);
  read_projector(table, model, vision);
  read_sizing(table, vision);
  table.expect("sizing", vision.sizing == ImageSizing::unknown || vision.heads > 0,
               "is of use only with heads and head_dim");
  table.finish();
}

void write_vision(Value& table, const Transformer& model) {
  if (!model.vision) return;
  const VisionEncoder& vision = *model.vision;
  Value own;
  own.set("layers", vision.layers);
  own.set("hidden", vision.hidden);
  own.set("intermediate", vision.intermediate);
  if (vision.heads > 0) {
    own.set("heads", vision.heads);
    own.set("head_dim", vision.head_dim);
  }
  own.set("patch", vision.patch);
  if (vision.frames > 1) own.set("frames", vision.frames);
  set_if(own, "positions", vision.positions);
  set_if(own, "gated_mlp", vision.gated_mlp);
  if (!vision.biases) own.set("biases", false);
  set_if(own, "window", std::int64_t{vision.window});
  if (!vision.full_layers.empty())
    own.set("full_layers", ValueArray(vision.full_layers.begin(), vision.full_layers.end()));
  if (vision.merge > 1) own.set("merge", vision.merge);
  own.set("projector", ValueArray(vision.projector.begin(), vision.projector.end()));
  set_if(own, "projector_norm", vision.projector_norm);
  set_if(own, "projector_bias", vision.projector_bias);
  set_if(own, "deepstack", std::int64_t{vision.deepstack});
  if (vision.sizing != ImageSizing::unknown)
    own.set("sizing", std::string(enum_name(vision.sizing)));
  set_if(own, "patches_min", vision.patches_min);
  set_if(own, "patches_max", vision.patches_max);
  set_if(own, "side_max", vision.side_max);
  set_if(own, "tiles_max", std::int64_t{vision.tiles_max});
  table.set("vision", std::move(own));
}

}  // namespace foretoken
