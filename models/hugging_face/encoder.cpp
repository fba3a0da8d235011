#include "models/hugging_face/encoder.hpp"

#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t channels = 3;  // red, green, blue

/// The first of `keys` that is there; 0 if none is.
std::int64_t count_of(TableReader& table, std::initializer_list<std::string_view> keys) {
  std::int64_t count = 0;
  for (const std::string_view key : keys) {
    if (read_within(table, key, count, 1, width_limit)) return count;
  }
  return count;
}

/// Layer norm, and two linear layers behind it: `in` to `between` to `out`, with biases.
std::int64_t merger(std::int64_t norm_width, std::int64_t in, std::int64_t between,
                    std::int64_t out) {
  return 2 * norm_width + in * between + between + between * out + out;
}

/// Qwen3-VL (transformers, modeling_qwen3_vl.py): a merger of 2 x 2 patches behind the tower, and
/// one more for each layer whose output joins the language model's (deepstack).
std::int64_t qwen_projector(TableReader& table, const VisionTower& tower) {
  const std::int64_t merge = count_of(table, {"spatial_merge_size"});
  const std::int64_t merged = tower.hidden * merge * merge;
  const std::int64_t out = count_of(table, {"out_hidden_size"});
  std::vector<int> deep;
  table.read("deepstack_visual_indexes", deep);
  return merger(tower.hidden, merged, merged, out) +
         static_cast<std::int64_t>(deep.size()) * merger(merged, merged, merged, out);
}

/// Kimi K2.5 (modeling_kimi_k25.py): patches merged 2 x 2 as Qwen's.
std::int64_t kimi_projector(TableReader& table, const VisionTower& tower) {
  std::vector<int> kernel;
  table.read("merge_kernel_size", kernel);
  std::int64_t merged = tower.hidden;
  for (const int side : kernel) merged *= side;
  return merger(tower.hidden, merged, merged, count_of(table, {"text_hidden_size"}));
}

}  // namespace

std::int64_t VisionTower::parameters() const {
  const std::int64_t attention = 4 * hidden * hidden;
  const std::int64_t mlp = (gated_mlp ? 3 : 2) * hidden * intermediate;
  const std::int64_t norms = 4 * hidden;
  const std::int64_t bias = biases ? 5 * hidden + (gated_mlp ? 2 : 1) * intermediate : 0;
  return layers * (attention + mlp + norms + bias) + patch_values * hidden + (biases ? hidden : 0) +
         positions * hidden + projector;
}

void read_vision_tower(ConfigReader& config) {
  const Value* vision = config.config.find("vision_config");
  if (vision == nullptr || !vision->is_object()) return;
  TableReader table(*vision, config.table.diagnostics(), "vision_config");
  VisionTower tower;
  tower.layers = count_of(table, {"depth", "vt_num_hidden_layers", "num_hidden_layers"});
  tower.hidden = count_of(table, {"vt_hidden_size", "hidden_size"});
  tower.intermediate = count_of(table, {"vt_intermediate_size", "intermediate_size"});
  if (tower.layers == 0 || tower.hidden == 0) {
    config.model.left_out.emplace_back(
        "an encoder of images of unknown size: neither its memory nor its work is counted");
    return;
  }
  if (tower.intermediate == 0) tower.intermediate = 4 * tower.hidden;
  const std::int64_t patch = count_of(table, {"patch_size"});
  const std::int64_t frames = count_of(table, {"temporal_patch_size"});
  tower.patch_values = patch * patch * channels * std::max<std::int64_t>(frames, 1);
  tower.positions = count_of(table, {"num_position_embeddings"});
  const std::int64_t rows = count_of(table, {"init_pos_emb_height"});
  if (rows > 0) tower.positions = rows * count_of(table, {"init_pos_emb_width"});
  const std::int64_t text = config.model.hidden;
  if (table.find("out_hidden_size") != nullptr) {
    tower.projector = qwen_projector(table, tower);
  } else if (table.find("text_hidden_size") != nullptr) {
    tower.projector = kimi_projector(table, tower);
  } else {
    // Gemma: gated, a product for each axis' positions, one plain projection. Others alike.
    std::string activation;
    table.read("hidden_activation", activation);
    tower.gated_mlp = !activation.empty();
    tower.biases = !tower.gated_mlp;
    const std::int64_t axes = count_of(table, {"position_embedding_size"});
    if (axes > 0) tower.positions = 2 * axes;
    tower.projector = tower.hidden * text;
  }
  config.model.encoder_parameters = tower.parameters();
  config.model.left_out.push_back(
      fmt::format("images: the encoder's {:.2f}e9 parameters are in memory, but no request has any",
                  static_cast<double>(config.model.encoder_parameters) / 1e9));
}

}  // namespace foretoken
