#include "sim/run/encoder_deployment.hpp"

#include <algorithm>

#include "sim/serving/encoder_memory.hpp"

namespace foretoken {

namespace {

/// What an engine keeps of encoded images unless it is told otherwise. vLLM's
/// compute_mm_encoder_budget: a step's tokens. SGLang's SGLANG_VLM_CACHE_SIZE_MB (environ.py): 100
/// MB. TensorRT-LLM's lie with their requests, no more than a step's prompts have.
std::int64_t usual_cache_tokens(const Scenario& scenario) {
  if (scenario.execution.implementation.framework != Framework::sglang)
    return scenario.engine.batch_tokens_max;
  constexpr double cache_bytes = 100 * 1024 * 1024;
  const double token_bytes = static_cast<double>(values_per_media_token(scenario.model)) *
                             bytes_per_element(activation_dtype(scenario.execution.dtype));
  return static_cast<std::int64_t>(cache_bytes / token_bytes);
}

}  // namespace

/// vLLM's limits are no fewer than the largest image's tokens; SGLang's cache takes only what it
/// has room for.
EncoderSettings encoder_limits(const Scenario& scenario) {
  if (!scenario.workload->has_media()) return {};
  EncoderSettings settings = scenario.engine.encoder.value_or(EncoderSettings{});
  std::int64_t largest = 0;
  for (const Medium medium : all_media) {
    if (scenario.workload->has(medium))
      largest = std::max(largest, scenario.model.encoder(medium)->tokens_most());
  }
  const bool is_sglang = scenario.execution.implementation.framework == Framework::sglang;
  const auto or_usual = [](std::int64_t given, std::int64_t usual) {
    return given > 0 ? given : usual;
  };
  settings.step_tokens =
      std::max(or_usual(settings.step_tokens, scenario.engine.batch_tokens_max), largest);
  settings.cache_tokens = std::max(or_usual(settings.cache_tokens, usual_cache_tokens(scenario)),
                                   is_sglang ? std::int64_t{1} : largest);
  return settings;
}

void expect_media_scheduler(const Scenario& scenario, Scheduler& scheduler) {
  if (!scenario.workload->has_media()) return;
  EncoderCache scratch(encoder_limits(scenario));
  if (scheduler.mind_media(&scratch)) return;
  throw ConfigError(scenario.engine_position,
                    fmt::format("{}: scheduler \"{}\" does not schedule encoders; \"vllm_v1\" "
                                "does, with chunked_prefill, \"sglang\" and \"tensorrt_llm\" do",
                                media_text(*scenario.workload), scenario.engine.scheduler.name));
}

}  // namespace foretoken
