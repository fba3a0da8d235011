// Hugging Face's config.json as a Transformer: finds the reader of its architecture (hugging_face/)
// and adds what is common to all of them. Keys that change no kernel (rope_theta, torch_dtype …)
// are passed over; those that may and that nobody reads are refused.
#include <fmt/ranges.h>

#include "models/hugging_face/architecture.hpp"
#include "models/hugging_face/defaults.hpp"
#include "models/hugging_face/quantisation.hpp"
#include "models/hugging_face/unread_keys.hpp"
#include "models/model_fields.hpp"
#include "models/model_name.hpp"

namespace foretoken {
namespace {

/// What of Qwen's Omni models listens and thinks: the file itself, or its "thinker_config". Engines
/// serve that alone.
const Value& thinker_of(const Value& config) {
  const Value* thinker = config.find("thinker_config");
  return thinker != nullptr && thinker->is_object() ? *thinker : config;
}

/// Where the language model is described: the config itself, or its "text_config".
const Value& text_of(const Value& config, const Architecture& architecture) {
  if (const Value* text = config.find("text_config"); text != nullptr && text->is_object()) {
    return *text;
  }
  if (architecture.name.ends_with("ForConditionalGeneration") &&
      config.find("hidden_size") == nullptr) {
    throw ConfigError(config.position, fmt::format("{} needs a \"text_config\" that describes its "
                                                   "language model",
                                                   architecture.name));
  }
  return config;
}

/// A member of the file, or of its text_config where the file itself has none.
const Value* find_outside(const Value& config, const Value& text, std::string_view key) {
  const Value* found = config.find(key);
  return found != nullptr ? found : text.find(key);
}

/// DeepSeek-V4 names its experts' format beside the block for everything else, unless others have
/// quantised them again (nvfp4).
void read_expert_format(TableReader& table, Transformer& model) {
  std::string dtype;
  if (!table.read("expert_dtype", dtype) || !model.moe) return;
  if (dtype == "fp8") return;
  if (dtype != "fp4") {
    table.fail("expert_dtype", fmt::format("'{}' is not understood; fp4 and fp8 are", dtype));
    return;
  }
  if (!model.released) model.released.emplace();
  if (bytes_per_element(model.released->experts) >= 1) model.released->experts = DType::mxfp4;
}

/// A name that tells a format where nothing in the file does: the published folder has it in
/// another file.
void warn_of_named_format(const std::string& name, Transformer& model) {
  if (model.released) return;
  const auto named = model_format_in(name);
  if (!named) return;
  model.left_out.push_back(
      fmt::format("its name says {}, but neither a quantization_config nor an hf_quant_config.json "
                  "does: counted in bf16",
                  enum_name(*named)));
}

}  // namespace

Transformer import_hugging_face(const Value& file, const std::string& name,
                                const Value* quantisation) {
  const Architecture& architecture = find_architecture(file);
  const Value& config = thinker_of(file);
  const Value& written = text_of(config, architecture);
  const bool is_nested = &written != &config;
  std::vector<std::string> filled;
  const Value text = with_class_defaults(written, architecture.name, filled);
  Diagnostics diagnostics;
  TableReader table(text, diagnostics, "");
  Transformer model;
  model.name = name;
  model.title = name;
  ConfigReader reader{table, config, model};
  architecture.read(reader);
  if (&config != &file) {
    model.left_out.emplace_back(
        "speech output (the model's talker) is neither simulated nor counted in memory");
  }
  if (!filled.empty()) {
    model.left_out.push_back(
        fmt::format("not in the file; transformers' defaults: {}", fmt::join(filled, ", ")));
  }
  if (is_nested) {
    TableReader outside(config, diagnostics, "");
    if (text.find("tie_word_embeddings") == nullptr) {
      outside.read("tie_word_embeddings", model.tied_embeddings);
    }
  }
  // A mistake above leaves nothing to go by.
  if (diagnostics.empty()) {
    // The second is compressed-tensors' older name.
    const Value* block = nullptr;
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      if (block == nullptr) block = file.find(key);
      if (block == nullptr) block = find_outside(config, text, key);
    }
    read_quantisation(block != nullptr ? block : quantisation, architecture.name, diagnostics,
                      model);
  }
  read_expert_format(table, model);
  // A reader that stopped at a mistake did not ask for what it would have understood.
  if (diagnostics.empty()) refuse_unread_keys(text, table.asked(), diagnostics);
  check_parameter_limit(model, config.position, diagnostics);
  expect_attention(model, config.position, diagnostics);
  diagnostics.throw_if_any();
  warn_of_named_format(name, model);
  return model;
}

}  // namespace foretoken
