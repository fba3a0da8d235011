// Dense decoders that differ from Llama in a trait or two. Sources: transformers' configuration and
// modeling files of glm, glm4, cohere, cohere2, granite, phi3, olmo2 and olmo3, seed_oss, ernie4_5,
// hunyuan_v1_dense, cwm, arcee, nemotron and apertus; InternLM's and MiniCPM's as published with
// the models.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {

void read_glm(ConfigReader& config) { read_decoder(config, {.output_bias = false}); }

void read_glm4(ConfigReader& config) {
  read_decoder(config, {.output_bias = false, .post_norms = true});
}

void read_glm4v(ConfigReader& config) {
  read_glm4(config);
  read_vision_tower(config);
}

void read_granite(ConfigReader& config) { read_decoder(config, {}); }

void read_phi3(ConfigReader& config) {
  read_decoder(config, {.window = WindowUse::always});
  int period = 1;
  read_within(config.table, "full_attn_mod", period, 0, layers_limit);
  config.table.expect("full_attn_mod", period <= 1, "makes layers differ, which is not understood");
}

/// Norms stand behind attention and MLP instead of before: as many, of the same work.
void read_olmo2(ConfigReader& config) {
  read_decoder(config, {.qk_norm_full = true, .window = WindowUse::by_pattern, .window_period = 4});
}

void read_seed_oss(ConfigReader& config) {
  read_decoder(config, {.output_bias = false});
  config.table.read("attention_out_bias", config.model.output_bias);
}

void read_ernie(ConfigReader& config) {
  read_decoder(config, {.tied_embeddings = true});
  refuse_bias(config.table, "use_bias");
}

/// Attention and MLP side by side. A layer norm without bias is as much as an RMS norm.
void read_cohere(ConfigReader& config) {
  read_decoder(config,
               {.tied_embeddings = true, .window = WindowUse::by_pattern, .window_period = 4});
  config.model.parallel_blocks = true;
  pass_over(config.table,
            {"logit_scale", "layer_switch", "order_of_interleaved_layers", "rotary_pct",
             "use_embedding_sharing", "use_gated_activation", "use_parallel_block",
             "use_parallel_embedding", "position_embedding_type"});
}

void read_hunyuan(ConfigReader& config) {
  read_decoder(config, {.qk_norm = true});
  bool shares_keys = false;
  config.table.read("use_cla", shares_keys);
  config.table.expect("use_cla", !shares_keys, "keys that layers share cannot be expanded here");
  int experts = 1;
  read_within(config.table, "num_experts", experts, 0, experts_limit);
  config.table.expect("num_experts", experts <= 1, "a dense model has no experts");
  pass_over(config.table, {"cla_share_factor", "attention_head_dim", "dense_list", "org_vocab_size",
                           "norm_type"});
}

/// Where nothing lists them, the first of four layers is full, not the last.
void read_cwm(ConfigReader& config) {
  read_decoder(config, {.window = WindowUse::by_pattern, .window_period = 4});
  auto& windows = config.model.window_pattern;
  if (config.table.find("layer_types") == nullptr && !windows.empty()) {
    std::ranges::rotate(windows, windows.end() - 1);
  }
}

void read_minicpm(ConfigReader& config) {
  read_decoder(config, {.tied_embeddings = true});
  pass_over(config.table, {"dim_model_base", "scale_depth"});  // of logits and residuals
}

void read_internlm(ConfigReader& config) {
  read_decoder(config, {});
  refuse_bias(config.table, "bias");
}

/// Nemotron's layer norms have biases, which are left out: a number for each of the hidden state.
void read_relu2(ConfigReader& config) {
  read_decoder(config, {.activation = "relu2"});
  config.model.ungated_mlp = true;
}

void read_apertus(ConfigReader& config) {
  read_decoder(config, {.qk_norm = true, .activation = "xielu"});
  config.model.ungated_mlp = true;
  config.table.read("qk_norm", config.model.qk_norm);
  config.table.read("post_norm", config.model.post_norms);
}

}  // namespace foretoken
