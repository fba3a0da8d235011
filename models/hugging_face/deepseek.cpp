// DeepSeek-V2 and V3, and Kimi K2, which is V3 with other sizes. Sources: the configuration and
// modeling files published with the models.
#include <utility>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"

namespace foretoken {
namespace {

DecoderTraits deepseek(bool router_bias) {
  return {.is_latent = true,
          .experts_key = "n_routed_experts",
          .expert_width_key = "moe_intermediate_size",
          .dense_layers = DenseLayers::leading,
          .router_bias = router_bias};
}

}  // namespace

void read_deepseek_v2(ConfigReader& config) { read_decoder(config, deepseek(false)); }

void read_deepseek_v3(ConfigReader& config) {
  bool is_told = false;
  for (const char* key : {"index_topk", "index_n_heads", "index_head_dim"}) {
    if (config.table.find(key) == nullptr || std::exchange(is_told, true)) continue;
    config.table.fail(key,
                      "belongs to DeepSeek-V3.2's sparse attention, which cannot be expanded; "
                      "without its indexer the model would be priced as DeepSeek-V3, whose "
                      "attention reads every key");
  }
  read_decoder(config, deepseek(true));
}

void read_kimi_k25(ConfigReader& config) {
  read_deepseek_v3(config);
  read_vision_tower(config);
}

}  // namespace foretoken
