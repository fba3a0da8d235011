// foretoken model: the models that are known, one in full, and the import of a Hugging Face config.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

std::string billions(std::int64_t count) {
  return fmt::format("{:.2f} B", static_cast<double>(count) / 1e9);
}

/// What a picture of one megapixel, or half a minute, becomes says more than the encoder's widths.
std::string encoder_text(const Transformer& model) {
  std::string text = billions(model.encoder_weights()) + " parameters";
  if (!model.takes_media()) return text + ", in memory alone";
  constexpr std::int64_t side = 1024, clip_ms = 30'000;
  if (model.takes(Medium::image)) {
    text += fmt::format(", {} layers; an image of {} x {} is {} tokens", model.vision->layers, side,
                        side, model.vision->patches_of(side, side).tokens);
  }
  if (model.takes(Medium::audio)) {
    text += fmt::format("{} {} layers; 30 s of audio are {} tokens",
                        model.takes(Medium::image) ? ";" : ",", model.audio->layers,
                        model.audio->patches_of_clip(clip_ms).tokens);
  }
  return text;
}

TextTable::Layout model_layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1};
}

std::string expert_text(const Transformer& model) {
  return model.moe ? fmt::format("{} of {}", model.moe->topk, model.moe->experts) : "-";
}

void list_draft_heads() {
  TextTable table({{"draft head", Align::left},
                   {"kind", Align::left},
                   {"parameters", Align::right},
                   {"hidden", Align::right},
                   {"heads/KV", Align::right},
                   {"vocabulary", Align::right}});
  for (const std::string& name : draft_head_names()) {
    const Transformer head = load_model(name, {});
    table.add_row({head.name, std::string(enum_name(head.draft_head->kind)),
                   billions(parameter_count(head)), fmt::format("{}", head.hidden),
                   fmt::format("{}/{}", head.query_heads, head.kv_heads),
                   fmt::format("{}", head.vocabulary)});
  }
  show("\n{}", table.text(model_layout()));
}

/// Models and draft heads.
int print_models_json() {
  Value value;
  const auto add = [&](std::string_view key, const std::vector<std::string>& names) {
    ValueArray models;
    for (const std::string& name : names) models.emplace_back(model_value(load_model(name, {})));
    value.set(key, std::move(models));
  };
  add("models", model_names());
  add("draft_heads", draft_head_names());
  show_data(to_json(value) + "\n");
  return 0;
}

int list_models() {
  TextTable table({{"name", Align::left},
                   {"parameters", Align::right},
                   {"active", Align::right},
                   {"layers", Align::right},
                   {"hidden", Align::right},
                   {"heads/KV", Align::right},
                   {"experts", Align::right},
                   {"KV a token", Align::right},
                   {"context", Align::right}});
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    table.add_row({model.name, billions(parameter_count(model)),
                   billions(active_parameter_count(model)), fmt::format("{}", model.layers),
                   fmt::format("{}", model.hidden),
                   model.mla ? fmt::format("{}/latent", model.query_heads)
                             : fmt::format("{}/{}", model.query_heads, model.kv_heads),
                   expert_text(model), readable(kv_bytes_per_token(model, DType::bf16)),
                   fmt::format("{}", model.context_max)});
  }
  show("{}", table.text(model_layout()));
  list_draft_heads();
  return 0;
}

void print_layer(const Transformer& model) {
  show("Operators of layer {}\n", model.layers - 1);
  TextTable table({{"operator", Align::left},
                   {"in", Align::right},
                   {"out", Align::right},
                   {"parameters", Align::right}});
  const auto size = [](std::int64_t value) {
    return value > 0 ? fmt::format("{}", value) : std::string();
  };
  for (const Operator& op : layer_graph(model, model.layers - 1)) {
    table.add_row(
        {std::string(op.role), size(op.in_features), size(op.out_features), size(op.parameters)});
  }
  show("{}", table.text(model_layout()));
}

/// "eagle3, on 3 hidden states 8192 wide": what a draft head sees of its target.
std::string head_text(const DraftHead& head) {
  const int states = std::max(head.target_layers, 1);
  return fmt::format("{}, on {} {} wide of a model with a vocabulary of {}", enum_name(head.kind),
                     states == 1 ? "a hidden state" : fmt::format("{} hidden states", states),
                     head.target_hidden, head.target_vocabulary);
}

/// "nvfp4, attention in bf16, experts in nvfp4"
std::string formats_text(const WeightFormats& formats, const MoeConfig* moe) {
  std::string text(enum_name(formats.linear));
  const auto add = [&](std::string_view part, DType dtype) {
    text += fmt::format(", {} in {}", part, enum_name(dtype));
  };
  if (formats.attention != formats.linear) add("attention", formats.attention);
  if (moe != nullptr) add("experts", formats.experts);
  if (moe != nullptr && formats.shared != formats.linear) add("shared experts", formats.shared);
  return text;
}

/// "linear: delta_net of 64 heads of 128 x 128"
std::string state_text(const StateShape& state) {
  if (state.kind == StateKind::convolution) {
    return fmt::format("convolution over {} tokens", state.taps);
  }
  return fmt::format("{} of {} heads of {} x {}", enum_name(state.kind), state.value_heads,
                     state.key_dim, state.value_dim);
}

std::string kind_text(const LayerKind& kind, const Transformer& model) {
  std::vector<std::string> parts;
  const AttentionShape& heads = kind.attention;
  if (kind.state) parts.push_back(state_text(*kind.state));
  if (kind.has_attention && model.mla) {
    parts.push_back(
        fmt::format("{} query heads on a latent of {}", heads.query_heads, model.mla->kv_rank));
  } else if (kind.has_attention) {
    parts.push_back(fmt::format("{} query heads, {} KV heads of {}", heads.query_heads,
                                heads.kv_heads, heads.head_dim));
  }
  if (heads.shares_kv) parts.emplace_back("keys of a layer before");
  if (kind.linear_attention) parts.emplace_back("a product");
  if (heads.window > 0) parts.push_back(fmt::format("window {}", heads.window));
  if (heads.compression > 0) {
    parts.push_back(fmt::format("a key for {} tokens beyond it", heads.compression));
  }
  if (heads.index) parts.push_back(fmt::format("best {} keys", heads.index->selected));
  if (parts.empty()) parts.emplace_back("none");
  return fmt::format("{}: {}", kind.name, fmt::join(parts, ", "));
}

/// ", window 512 in 33 of 45 layers"
std::string windows_text(const Transformer& model) {
  std::map<std::int64_t, int> layers;
  for (int layer = 0; layer < model.layers; ++layer) ++layers[model.window(layer)];
  std::string text;
  for (const auto& [window, count] : layers) {
    if (window == 0) continue;
    text += fmt::format(", {} {}", model.chunked_windows ? "chunks of" : "window", window);
    if (count < model.layers) text += fmt::format(" in {} of {} layers", count, model.layers);
  }
  return text;
}

std::string attention_text(const Transformer& model) {
  if (!model.kinds.empty()) {
    std::vector<std::string> kinds;
    for (const LayerKind& kind : model.kinds) kinds.push_back(kind_text(kind, model));
    return fmt::format("{}", fmt::join(kinds, "; "));
  }
  if (model.mla) {
    return fmt::format("{} query heads on a latent of {} and a rotary key of {}", model.query_heads,
                       model.mla->kv_rank, model.mla->rope_dim);
  }
  return fmt::format("{} query heads, {} KV heads of {}{}", model.query_heads, model.kv_heads,
                     model.head_dim, windows_text(model));
}

int show_model(const std::string& name, bool is_json) {
  const Transformer model = load_model(name, {"model show"});
  if (is_json) {
    show_data(to_json(model_value(model)) + "\n");
    return 0;
  }
  TextTable table({{"", Align::left}, {.folds = true}});
  const auto row = [&](const char* key, const std::string& value) { table.add_row({key, value}); };
  const std::int64_t parameters = parameter_count(model);
  row("parameters",
      model.parameters_published > 0
          ? fmt::format("{} counted, {} published", parameters, model.parameters_published)
          : fmt::format("{}", parameters));
  row("active a token", billions(active_parameter_count(model)));
  row("layers", fmt::format("{}", model.layers));
  row("hidden", fmt::format("{}", model.hidden));
  if (model.intermediate > 0) row("intermediate", fmt::format("{}", model.intermediate));
  row("attention", attention_text(model));
  if (model.moe) {
    const ExpertGroups& groups = model.moe->groups;
    row("experts", fmt::format("{} of {}, {} wide{}", model.moe->topk, model.moe->experts,
                               model.moe->intermediate,
                               groups.are_limiting() ? fmt::format(", from {} of {} groups a token",
                                                                   groups.chosen, groups.count)
                                                     : ""));
  }
  if (model.draft_head) row("draft head", head_text(*model.draft_head));
  if (model.mtp_layers > 0) {
    row("MTP modules", fmt::format("{}, {} parameters each beside", model.mtp_layers,
                                   parameter_count(mtp_module(model))));
  }
  if (model.encoder_weights() > 0) row("encoders", encoder_text(model));
  row("vocabulary", fmt::format("{}", model.vocabulary));
  row("context", fmt::format("{} tokens", model.context_max));
  row("weights in bf16", readable(weight_bytes_per_rank(model, {}, 0, DType::bf16)));
  if (model.released) {
    row("weights as published",
        fmt::format("{} in {}", readable(weight_bytes_per_rank(model, {}, 0, *model.released)),
                    formats_text(*model.released, model.moe ? &*model.moe : nullptr)));
  }
  const DType kv = model.kv_released.value_or(DType::bf16);
  row("KV cache a token",
      fmt::format("{} in {}", readable(kv_bytes_per_token(model, kv)), enum_name(kv)));
  if (const Bytes state = sequence_memory_per_rank(model, {}, 0, DType::bf16).state;
      state > Bytes(0.0)) {
    row("state a sequence", readable(state));
  }
  show("{} ({})\n{}", Ink(shows_colour(stdout)).strong(model.title), model.name,
       table.text(model_layout()));
  warn_of_left_out(model);
  print_layer(model);
  return 0;
}

int import_model(const std::string& path) {
  const Transformer model = load_model(path, {"model import"});
  warn_of_left_out(model);
  show_data(model_toml(model));
  return 0;
}

}  // namespace

void add_model(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("model", "List, show and import models");
  command->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  auto is_json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand("list", "List the built-in models");
  list->add_flag("--json", *is_json, "Print an object of arrays instead");
  list->callback([is_json, &chosen] { chosen = *is_json ? print_models_json : list_models; });
  CLI::App* show = command->add_subcommand("show", "Show one model in full");
  show->add_option("model", *name, "Name, TOML path or config.json")->required();
  show->add_flag("--json", *is_json, "Print a JSON object");
  show->callback([name, is_json, &chosen] {
    chosen = [name, is_json] { return show_model(*name, *is_json); };
  });
  CLI::App* import =
      command->add_subcommand("import", "Convert a Hugging Face config.json to a model TOML file");
  import->add_option("config", *name, "Path to config.json")->required();
  import->callback([name, &chosen] { chosen = [name] { return import_model(*name);
};
}  // namespace foretoken
);
command->footer(
    examples("  foretoken model list\n  foretoken model show qwen3-30b-a3b\n"
             "  foretoken model show llama-3.1-8b --json\n"
             "  foretoken model import config.json > my-model.toml"));
}

}  // namespace foretoken
