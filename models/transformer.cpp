// Finds a model: inside the program by name, or in a user's file by path.
#include "models/transformer.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <utility>

#include "models/model_name.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/embedded_toml.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time from specs/ and drafts/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_models();
std::span<const EmbeddedFile> embedded_draft_heads();

namespace {

bool exists(const std::string& path) {
  std::error_code unreachable;
  return std::filesystem::exists(path, unreachable);
}

/// A Hugging Face id looks like a path of two parts: where a file stands, that is meant.
bool is_path(std::string_view text) {
  if (is_model_id(text) && !exists(std::string(text))) return false;
  return text.find('/') != std::string_view::npos || text.ends_with(".toml") ||
         text.ends_with(".json");
}

/// "mistralai/Mixtral-8x7B-v0.1" becomes "mixtral-8x7b-v0.1".
std::string kebab_name(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (const auto slash = text.rfind('/'); slash != std::string_view::npos) {
    text.remove_prefix(slash + 1);
  }
  std::string name;
  for (const unsigned char c : text) {
    const bool keep = std::isalnum(c) != 0 || c == '.' || c == '_';
    name += keep ? static_cast<char>(std::tolower(c)) : '-';
  }
  return name;
}

/// What an imported model is called: its own name for itself, else its folder's (every Hugging Face
/// file is called config.json), else the file's.
std::string imported_name(const Value& config, const std::filesystem::path& path) {
  if (const Value* own = config.is_object() ? config.find("_name_or_path") : nullptr;
      own != nullptr && own->is_string()) {
    const std::string name = kebab_name(std::get<std::string>(own->data));
    if (name.find_first_not_of(".-") != std::string::npos) return name;
  }
  const std::string folder = path.parent_path().filename().string();
  if (path.filename() == "config.json" && folder.find_first_not_of('.') != std::string::npos) {
    return kebab_name(folder);
  }
  return kebab_name(path.stem().string());
}

Transformer load_file(const std::string& path, const SourcePosition& asked_at) {
  if (!exists(path)) {
    throw ConfigError(asked_at, fmt::format("the model file '{}' does not exist", path),
                      Mistake::slip);
  }
  // A model's folder, as it is downloaded.
  const std::string inside = (std::filesystem::path(path) / "config.json").string();
  if (exists(inside)) return load_file(inside, asked_at);
  if (!path.ends_with(".json")) return read_model(load_toml(path, FileKind::model));
  const Value config = load_json(path);
  const std::string name = imported_name(config, path);
  // ModelOpt writes the formats beside the config that it quantised.
  const auto formats = std::filesystem::path(path).replace_filename("hf_quant_config.json");
  if (!exists(formats.string())) return import_hugging_face(config, name);
  const Value written = load_json(formats);
  return import_hugging_face(config, name,
                             written.is_object() ? written.find("quantization") : nullptr);
}

std::vector<std::string> sorted_stems(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.stem);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> model_names() { return sorted_stems(embedded_models()); }

std::vector<std::string> draft_head_names() { return sorted_stems(embedded_draft_heads()); }

Transformer load_model(const std::string& name_or_path, const SourcePosition& asked_at) {
  if (is_path(name_or_path)) return load_file(name_or_path, asked_at);
  for (const auto& [files, folder] :
       {std::pair{embedded_models(), "specs"}, {embedded_draft_heads(), "drafts"}}) {
    const auto found = std::ranges::find(files, name_or_path, &EmbeddedFile::stem);
    if (found == files.end()) continue;
    return read_model(
        parse_embedded(*found, fmt::format("models/{}/{}.toml", folder, found->stem)));
  }
  if (const auto named = model_named(name_or_path)) {
    Transformer model = load_model(named->name, asked_at);
    if (named->released) model.released = *named->released;
    return model;
  }
  throw ConfigError(asked_at, unknown_model_message(name_or_path), Mistake::slip);
}

const LayerKind* Transformer::kind(int layer) const {
  if (kind_pattern.empty()) return nullptr;
  const int index = kind_pattern[static_cast<std::size_t>(layer) % kind_pattern.size()];
  return &kinds[static_cast<std::size_t>(index)];
}

AttentionShape Transformer::attention(int layer) const {
  if (const LayerKind* own = kind(layer)) return own->attention;
  AttentionShape shape{.query_heads = query_heads,
                       .kv_heads = kv_heads,
                       .head_dim = head_dim,
                       .value_dim = head_dim,
                       .sinks = attention_sinks};
  if (!window_pattern.empty()) {
    shape.window = window_pattern[static_cast<std::size_t>(layer) % window_pattern.size()];
    shape.is_chunked = chunked_windows && shape.window > 0;
  }
  return shape;
}

std::int64_t Transformer::dense_width(int layer) const {
  const LayerKind* own = kind(layer);
  return own != nullptr ? own->intermediate : intermediate;
}

namespace {

/// Modules for drafting have attention, whatever the last layers are.
int last_attention_layer(const Transformer& model) {
  for (int layer = model.layers - 1; layer > 0; --layer) {
    const LayerKind* kind = model.kind(layer);
    if (kind == nullptr || kind->has_attention) return layer;
  }
  return 0;
}

}  // namespace

Transformer mtp_module(const Transformer& model) {
  FORETOKEN_CHECK(model.mtp_layers > 0, "{} has no multi-token prediction module", model.name);
  Transformer module = model;
  module.name = model.name + "-mtp";
  module.title = model.title + " MTP";
  module.layers = 1;
  module.mtp_layers = 0;
  module.tied_embeddings = false;
  module.parameters_published = 0;
  if (module.moe) {
    module.moe->dense_layers = 0;
    module.moe->step = 1;
    module.intermediate = 0;
  }
  module.encoder_parameters = 0;
  module.vision.reset();
  module.audio.reset();
  module.layer_embedding = 0;
  module.left_out.clear();
  const int like = last_attention_layer(model);
  if (const LayerKind* last = model.kind(like)) {
    module.kinds = {*last};
    module.kind_pattern = {0};
    // Where attention and experts are layers of their own, a module has one of each (Nemotron 3).
    if (!last->has_mlp) module.kinds.front().intermediate = module.intermediate;
    module.kinds.front().has_mlp = module.kinds.front().has_experts = true;
  }
  const std::int64_t window = model.window(like);
  module.window_pattern.clear();
  if (window > 0) module.window_pattern = {window};
  module.draft_head = DraftHead{.kind = DraftHeadKind::mtp,
                                .target_hidden = model.hidden,
                                .target_vocabulary = model.vocabulary};
  return module;
}

}  // namespace foretoken
