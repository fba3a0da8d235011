// Rules that the TOML reader and the Hugging Face importer share.
#include "models/model_fields.hpp"

#include <algorithm>
#include <cctype>

namespace foretoken {

void check_parameter_limit(const Transformer& model, const SourcePosition& position,
                           Diagnostics& diagnostics) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  double attention = 2.0 * number(model.hidden) * number(model.query_heads + model.kv_heads) *
                     number(model.head_dim);
  if (model.mla) {
    const MlaConfig& mla = *model.mla;
    attention +=
        (number(mla.query_rank) + number(mla.kv_rank) + number(mla.rope_dim)) *
            number(model.hidden) +
        number(model.query_heads) * (number(mla.query_rank) * number(model.head_dim) +
                                     number(mla.kv_rank) * number(mla.nope_dim + mla.value_dim) +
                                     number(mla.value_dim) * number(model.hidden));
  }
  const double dense = 3.0 * number(model.hidden) * number(model.intermediate);
  double experts = 0;
  if (model.moe) {
    const MoeConfig& moe = *model.moe;
    experts = 3.0 * number(model.hidden) *
              (number(moe.experts) * number(moe.intermediate) + number(moe.shared_intermediate));
  }
  const double total = number(model.layers) * (attention + std::max(dense, experts)) +
                       2.0 * number(model.vocabulary) * number(model.hidden);
  if (total > parameters_limit) {
    diagnostics.add(position, fmt::format("these sizes make {:.1e} parameters, more than {:.0e}; "
                                          "check the units (widths count elements)",
                                          total, parameters_limit));
  }
}

std::vector<std::int64_t> shortest_pattern(std::vector<std::int64_t> window_by_layer) {
  const auto repeats_after = [&](std::size_t period) {
    return std::equal(window_by_layer.begin() + static_cast<std::ptrdiff_t>(period),
                      window_by_layer.end(), window_by_layer.begin());
  };
  for (std::size_t period = 1; period < window_by_layer.size(); ++period) {
    if (repeats_after(period)) {
      window_by_layer.resize(period);
      break;
    }
  }
  if (window_by_layer == std::vector<std::int64_t>{0}) window_by_layer.clear();
  return window_by_layer;
}

bool is_model_name(std::string_view text) {
  const bool is_file = text.ends_with(".toml") || text.ends_with(".json");
  return !text.empty() && !is_file && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace foretoken
