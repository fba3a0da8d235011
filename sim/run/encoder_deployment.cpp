#include "sim/run/encoder_deployment.hpp"

#include <algorithm>

namespace foretoken {

/// As vLLM's compute_mm_encoder_budget: a step's tokens, and no fewer than the largest image's.
EncoderSettings encoder_limits(const Scenario& scenario) {
  if (!scenario.workload->has_images()) return {};
  EncoderSettings settings = scenario.engine.encoder.value_or(EncoderSettings{});
  const auto limit = [&](std::int64_t given) {
    return std::max(given > 0 ? given : scenario.engine.batch_tokens_max,
                    scenario.model.vision->tokens_most());
  };
  settings.step_tokens = limit(settings.step_tokens);
  settings.cache_tokens = limit(settings.cache_tokens);
  return settings;
}

void expect_image_scheduler(const Scenario& scenario, Scheduler& scheduler) {
  if (!scenario.workload->has_images()) return;
  EncoderCache scratch(encoder_limits(scenario));
  if (scheduler.mind_images(&scratch)) return;
  throw ConfigError(
      scenario.engine_position,
      fmt::format("images of requests ([workload.images]): scheduler \"{}\" schedules no encoder; "
                  "\"vllm_v1\" does, with chunked_prefill",
                  scenario.engine.scheduler.name));
}

}  // namespace foretoken
