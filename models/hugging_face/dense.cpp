// Dense decoders that differ from Llama in a trait or two. Sources: transformers' configuration and
// modeling files of glm4, granite, phi3, olmo2 and olmo3, seed_oss, ernie4_5, hunyuan_v1_dense.
#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"

namespace foretoken {

void read_glm4(ConfigReader& config) {
  read_decoder(config, {.output_bias = false, .post_norms = true});
}

void read_granite(ConfigReader& config) { read_decoder(config, {}); }

void read_phi3(ConfigReader& config) { read_decoder(config, {.window = WindowUse::always}); }

/// Norms stand behind attention and MLP instead of before: as many, of the same work.
void read_olmo2(ConfigReader& config) {
  read_decoder(config, {.qk_norm_full = true, .window = WindowUse::by_pattern, .window_period = 4});
}

void read_seed_oss(ConfigReader& config) {
  read_decoder(config, {.output_bias = false});
  config.table.read("attention_out_bias", config.model.output_bias);
}

void read_ernie(ConfigReader& config) {
  read_decoder(config, {});
  bool bias = false;
  config.table.read("use_bias", bias);
  config.table.expect("use_bias", !bias, "products with a bias cannot be expanded");
}

void read_hunyuan(ConfigReader& config) { read_decoder(config, {.qk_norm = true}); }

}  // namespace foretoken
