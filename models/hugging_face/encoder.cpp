#include "models/hugging_face/encoder.hpp"

#include <algorithm>
#include <cmath>

#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// The first of `keys` that is there; 0 if none is.
std::int64_t count_of(TableReader& table, std::initializer_list<std::string_view> keys) {
  std::int64_t count = 0;
  for (const std::string_view key : keys) {
    if (read_within(table, key, count, 1, width_limit)) return count;
  }
  return count;
}

/// A side, in pixels or patches, or a number of frames.
constexpr std::int64_t config_side_limit = 10'000;

/// As count_of(), of what is a side.
int side_of(TableReader& table, std::initializer_list<std::string_view> keys) {
  int side = 0;
  for (const std::string_view key : keys) {
    if (read_within(table, key, side, 1, config_side_limit)) return side;
  }
  return side;
}

/// A "vision_config" while it is read.
struct TowerReader {
  TableReader& table;
  const ConfigReader& config;
  MediaEncoder& vision;
  std::string type;  // its "model_type", else the file's

  [[nodiscard]] bool is(std::string_view family) const { return type.starts_with(family); }
  /// A key of the whole file.
  [[nodiscard]] std::int64_t root_count(std::string_view key) const {
    const Value* value = config.config.find(key);
    const auto* count = value != nullptr ? std::get_if<std::int64_t>(&value->data) : nullptr;
    return count != nullptr ? std::clamp<std::int64_t>(*count, 0, config_side_limit) : 0;
  }
};

void read_tower_heads(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  vision.heads = static_cast<int>(
      count_of(tower.table, {"vt_num_attention_heads", "num_heads", "num_attention_heads"}));
  if (vision.heads == 0) return;
  const std::int64_t width = count_of(tower.table, {"qkv_hidden_size"});
  vision.head_dim = static_cast<int>(count_of(tower.table, {"head_dim"}));
  if (vision.head_dim == 0)
    vision.head_dim = static_cast<int>((width > 0 ? width : vision.hidden) / vision.heads);
  if (vision.head_dim == 0) vision.heads = 0;
}

void read_tower_positions(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  vision.positions = count_of(tower.table, {"num_position_embeddings"});
  const std::int64_t rows = count_of(tower.table, {"init_pos_emb_height"});
  if (rows > 0) vision.positions = rows * count_of(tower.table, {"init_pos_emb_width"});
  const std::int64_t axes = count_of(tower.table, {"position_embedding_size"});
  if (axes > 0) vision.positions = 2 * axes;  // Gemma: a row for each axis' positions
}

/// Gemma's, Pixtral's, Qwen2.5-VL's and GLM's blocks have a gate, the others two products; Gemma,
/// Pixtral, GLM and Kimi K3 have no biases.
void read_tower_block(TowerReader& tower) {
  std::string activation;
  tower.table.read("hidden_activation", activation);
  MediaEncoder& vision = tower.vision;
  const bool is_lean = !activation.empty() || tower.is("pixtral") || tower.is("glm4v");
  vision.gated_mlp = is_lean || tower.is("qwen2_5");
  vision.biases = !is_lean;
  bool linear_bias = vision.biases;
  if (tower.table.read("linear_bias", linear_bias)) vision.biases = linear_bias;
}

/// Layer norm, and two linear layers behind it, from merge x merge patches to a token.
void set_merger(MediaEncoder& vision, std::int64_t out) {
  const std::int64_t merged = vision.hidden * vision.merge * vision.merge;
  vision.projector = {merged, merged, out};
  vision.projector_norm = vision.projector_bias = true;
}

/// Qwen2-VL to Qwen3.5 (transformers, modeling_qwen3_vl.py): a merger behind the tower, and one
/// more for each layer whose output joins the language model's (deepstack). Limits of pixels: the
/// models' preprocessor_config.json.
void read_qwen_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  vision.merge = side_of(tower.table, {"spatial_merge_size"});
  if (vision.merge == 0) vision.merge = 2;
  const std::int64_t out = count_of(tower.table, {"out_hidden_size"});
  set_merger(vision, out > 0 ? out : tower.config.model.hidden);
  std::vector<int> deep;
  tower.table.read("deepstack_visual_indexes", deep);
  vision.deepstack = static_cast<int>(deep.size());
  const std::int64_t window = count_of(tower.table, {"window_size"});
  if (window > 0 && vision.patch > 0) {
    vision.window = static_cast<int>(window / vision.patch);
    tower.table.read("fullatt_block_indexes", vision.full_layers);
  }
  if (!tower.is("qwen")) return;  // others have Qwen's fields and limits of their own
  vision.sizing = MediaSizing::rounded;
  const bool is_second = tower.is("qwen2");
  const std::int64_t pixels = std::int64_t{vision.patch} * vision.patch;
  if (pixels == 0) return;
  vision.patches_min = (is_second ? 3136 : 65'536) / pixels;
  vision.patches_max = (is_second ? 12'845'056 : 16'777'216) / pixels;
}

/// GLM-4.1V and 4.5V (transformers, modeling_glm4v.py): blocks' MLPs are as wide as the text, and
/// intermediate_size is of the merger, whose gated MLP is as much as one of half again its width.
/// An image is two frames alike, and limits are of both (image_processing_glm4v.py: 112 x 112 and
/// 28 x 28 x 15,000 pixels).
void read_glm_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  const std::int64_t out = count_of(tower.table, {"out_hidden_size"});
  vision.merge = side_of(tower.table, {"spatial_merge_size"});
  if (vision.merge == 0) vision.merge = 2;
  vision.projector = {vision.hidden * vision.merge * vision.merge, out, out,
                      vision.intermediate * 3 / 2, out};
  vision.projector_norm = true;
  vision.intermediate = out;
  vision.sizing = MediaSizing::rounded;
  const std::int64_t pixels = std::int64_t{vision.patch} * vision.patch;
  if (pixels == 0) return;
  vision.patches_min = 112 * 112 / 2 / pixels;
  vision.patches_max = 28 * 28 * 15'000 / 2 / pixels;
}

/// Kimi-VL, K2.5 and K3 (modeling_kimi_vl.py, modeling_kimi_k25.py; limits of the latter two: their
/// preprocessor_config.json).
void read_kimi_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  std::vector<int> kernel;
  tower.table.read("merge_kernel_size", kernel);
  if (!kernel.empty() && kernel.front() > 0 && kernel.front() <= config_side_limit)
    vision.merge = kernel.front();
  const std::int64_t out = count_of(tower.table, {"text_hidden_size"});
  set_merger(vision, out > 0 ? out : tower.config.model.hidden);
  const bool is_third = tower.table.find("qkv_hidden_size") != nullptr;
  vision.sizing = MediaSizing::padded;
  const bool is_first = tower.is("moonvit");  // in_token_limit of image_processing_kimi_vl.py
  vision.patches_max = is_first ? 4096 : is_third ? 65'536 : 16'384;
  vision.side_max = 512;
}

/// One product behind the pooled patches (transformers, modeling_gemma4.py).
void read_gemma4_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  vision.merge = side_of(tower.table, {"pooling_kernel_size"});
  const std::int64_t tokens = count_of(tower.table, {"default_output_length"});
  if (vision.merge == 0 || tokens == 0) return;
  vision.sizing = MediaSizing::fitted;
  vision.patches_max = tokens * vision.merge * vision.merge;
}

/// Gemma 3: a square of image_size, pooled to mm_tokens_per_image (processing_gemma3.py; pan and
/// scan is off by default).
void read_siglip_tower(TowerReader& tower, std::int64_t tokens) {
  MediaEncoder& vision = tower.vision;
  const std::int64_t size = count_of(tower.table, {"image_size"});
  if (size == 0 || vision.patch == 0) return;
  vision.side_max = size / vision.patch;
  const double side = std::sqrt(static_cast<double>(tokens));
  vision.merge = std::max(1, static_cast<int>(static_cast<double>(vision.side_max) / side));
  vision.sizing = MediaSizing::square;
}

/// Llama 4 (transformers, modeling_llama4.py): pixels shuffled 2 x 2, an adapter of two products
/// and the projector; at most 16 tiles (image_processing_llama4_fast.py).
void read_llama4_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  const std::int64_t size = count_of(tower.table, {"image_size"});
  const std::int64_t between = count_of(tower.table, {"projector_output_dim"});
  if (size == 0 || between == 0 || vision.patch == 0) return;
  double ratio = 0.5;
  tower.table.read("pixel_shuffle_ratio", ratio);
  vision.merge = ratio > 0.01 ? std::max(1, static_cast<int>(std::lround(1 / ratio))) : 1;
  vision.projector = {vision.hidden * vision.merge * vision.merge, between, between,
                      tower.config.model.hidden};
  vision.side_max = size / vision.patch;
  vision.tiles_max = 16;
  vision.sizing = MediaSizing::tiled;
}

/// Mistral's (transformers, modeling_mistral3.py, image_processing_pixtral.py): a product that
/// merges patches and two behind it; rows' ends, which are tokens of text, are not counted.
void read_pixtral_tower(TowerReader& tower) {
  MediaEncoder& vision = tower.vision;
  const std::int64_t size = count_of(tower.table, {"image_size"});
  if (size == 0 || vision.patch == 0) return;
  vision.merge = std::max(1, static_cast<int>(tower.root_count("spatial_merge_size")));
  const std::int64_t text = tower.config.model.hidden;
  vision.projector = {vision.hidden * vision.merge * vision.merge, vision.hidden, text, text};
  vision.side_max = size / vision.patch;
  vision.sizing = MediaSizing::padded;
}

void read_tower_family(TowerReader& tower) {
  // Where nothing else is known: one plain projection.
  tower.vision.projector = {tower.vision.hidden, tower.config.model.hidden};
  if (tower.table.find("text_hidden_size") != nullptr || tower.is("moonvit"))
    return read_kimi_tower(tower);
  if (tower.is("glm4v")) return read_glm_tower(tower);
  if (tower.table.find("out_hidden_size") != nullptr || tower.is("qwen"))
    return read_qwen_tower(tower);
  if (tower.is("gemma4")) return read_gemma4_tower(tower);
  if (tower.is("llama4")) return read_llama4_tower(tower);
  if (tower.is("pixtral")) return read_pixtral_tower(tower);
  if (const std::int64_t tokens = tower.root_count("mm_tokens_per_image"); tokens > 0)
    read_siglip_tower(tower, tokens);
}

std::string tower_type(TableReader& table, const ConfigReader& config) {
  std::string type;
  table.read("model_type", type);
  const Value* root = config.config.find("model_type");
  if (type.empty() && root != nullptr) {
    if (const auto* text = std::get_if<std::string>(&root->data)) type = *text;
  }
  return type;
}

void read_tower(TowerReader& tower) {
  TableReader& table = tower.table;
  MediaEncoder& vision = tower.vision;
  vision.layers =
      static_cast<int>(count_of(table, {"depth", "vt_num_hidden_layers", "num_hidden_layers"}));
  vision.hidden = count_of(table, {"vt_hidden_size", "embed_dim", "hidden_size"});
  vision.intermediate = count_of(table, {"vt_intermediate_size", "intermediate_size"});
  if (vision.intermediate == 0) vision.intermediate = 4 * vision.hidden;
  vision.patch = side_of(table, {"patch_size"});
  vision.frames = std::max(1, side_of(table, {"temporal_patch_size"}));
  read_tower_heads(tower);
  read_tower_positions(tower);
  read_tower_block(tower);
  read_tower_family(tower);
}

}  // namespace

void read_vision_tower(ConfigReader& config) {
  const Value* given = config.config.find("vision_config");
  if (given == nullptr || !given->is_object()) return;
  TableReader table(*given, config.table.diagnostics(), "vision_config");
  Transformer& model = config.model;
  MediaEncoder vision;
  TowerReader tower{table, config, vision, tower_type(table, config)};
  read_tower(tower);
  if (vision.layers == 0 || vision.hidden == 0) {
    model.left_out.emplace_back(
        "an image encoder of unknown size: neither its memory nor its work is counted");
    return;
  }
  if (parameters_about(vision) > parameters_limit) {
    model.vision = vision;  // which check_parameter_limit() refuses
    return;
  }
  if (vision.patch > 0 && vision.projector.back() == model.hidden) {
    model.vision = vision;
  } else {
    model.encoder_parameters = vision.parameters();
  }
  if (model.takes(Medium::image)) return;
  model.left_out.push_back(
      fmt::format("images: the encoder's {:.2f}e9 parameters are in memory, but how it turns an "
                  "image into tokens is unknown, so requests cannot have images",
                  static_cast<double>(model.encoder_weights()) / 1e9));
}

}  // namespace foretoken
