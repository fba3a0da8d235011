#include "calibration/evaluate/measured_steps.hpp"

#include <map>
#include <optional>
#include <utility>

namespace foretoken {
namespace {

constexpr int layers = 32;  // of Llama-3.1-8B

struct LayerCalls {
  std::string_view name;  // of the table
  int calls = 1;          // a step
};

constexpr LayerCalls by_tokens[] = {
    {"layernorm", 2 * layers}, {"qkv_proj", layers},     {"rotary_emb", layers},
    {"o_proj", layers},        {"gate_up_proj", layers}, {"act_fn", layers},
    {"down_proj", layers},     {"embedding", 1},         {"final_layernorm", 1}};
constexpr LayerCalls head = {"lm_head", 1};  // by sequences

/// Rows that a layer was called with: tokens, or sequences of the head.
std::int64_t rows_of(const Kernel& kernel) {
  if (const auto* gemm = std::get_if<Gemm>(&kernel)) return gemm->m;
  return std::visit(
      [](const auto& value) -> std::int64_t {
        if constexpr (requires { value.tokens; }) return value.tokens;
        return 0;
      },
      kernel);
}

using LayerTable = std::map<std::pair<std::string, std::int64_t>, const Sample*, std::less<>>;

bool add_layer(const LayerTable& table, const LayerCalls& layer, std::int64_t rows,
               MeasuredStep& step) {
  const auto found = table.find(std::pair(std::string(layer.name), rows));
  if (found == table.end()) return false;
  step.parts.push_back({found->second->kernel, layer.calls});
  step.measured += layer.calls * found->second->time.value();
  return true;
}

std::optional<MeasuredStep> step_of(const LayerTable& table, const Sample& sample) {
  const auto& load = std::get<Attention>(sample.kernel).load;
  const std::int64_t tokens = load.prefill.query_tokens + load.decode.query_tokens;
  const std::int64_t sequences = load.prefill.sequences + load.decode.sequences;
  MeasuredStep step;
  step.kind = load.decode.sequences == 0    ? "prefill"
              : load.prefill.sequences == 0 ? "decode"
                                            : "mixed";
  step.gpu = sample.gpu;
  step.parts.push_back({sample.kernel, layers});
  step.measured = layers * sample.time.value();
  for (const LayerCalls& layer : by_tokens) {
    if (!add_layer(table, layer, tokens, step)) return std::nullopt;
  }
  if (!add_layer(table, head, sequences, step)) return std::nullopt;
  return step;
}

}  // namespace

std::vector<MeasuredStep> measured_steps(const Dataset& dataset) {
  LayerTable table;
  for (const Sample& sample : dataset.samples) {
    if (sample.origin != "llmservingsim" || std::holds_alternative<Attention>(sample.kernel)) {
      continue;
    }
    table.emplace(std::pair(sample.source_name, rows_of(sample.kernel)), &sample);
  }
  std::vector<MeasuredStep> steps;
  for (const Sample& sample : dataset.samples) {
    if (sample.origin != "llmservingsim" || !std::holds_alternative<Attention>(sample.kernel)) {
      continue;
    }
    if (auto step = step_of(table, sample)) steps.push_back(std::move(*step));
  }
  return steps;
}

}  // namespace foretoken
