// Modules of a checkpoint by name, as quantisation blocks list them: which products a layer's
// attention, MLP and experts are made of, what checkpoints call them, and whether a pattern of a
// block means one of them. Internal to this room.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/transformer.hpp"

namespace foretoken {

/// The parts of a layer whose format a block can say.
enum class QuantisedPart { attention, mlp, shared_experts, experts };

/// Patterns of modules: compressed-tensors' regular expressions ("re:.*self_attn.*"), ModelOpt's
/// globs ("model.layers.0*"), or names, which stand for the module and all below it wherever they
/// end at a dot ("self_attn", "model.layers.0").
class ModulePatterns {
 public:
  /// nullopt: one is an expression that cannot be read.
  static std::optional<ModulePatterns> read(const std::vector<std::string>& patterns);
  [[nodiscard]] bool cover(std::string_view module) const;

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> globs_;
  std::vector<std::regex> expressions_;
};

/// A product of a part. Experts and recurrences have further ones, too small to matter.
struct Projection {
  std::string_view name;  // as most checkpoints have it
  double parameters = 0;  // of one expert, where the part is of experts
  /// Below the layer, whichever of them it is: "self_attn.o_proj".
  std::vector<std::string_view> spellings;
};

/// What that part of the layer is made of; {} if the layer has none.
std::vector<Projection> projections(const Transformer& model, std::string_view architecture,
                                    QuantisedPart part, int layer);

/// Under any of its names.
bool is_covered(const Projection& projection, int layer, const ModulePatterns& patterns);

}  // namespace foretoken
