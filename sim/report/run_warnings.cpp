#include "sim/report/run_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// Where so large a share of requests waits for so many times between tokens, GPUs that are hardly
/// ever idle have no time to spare: batching alone keeps them busy at any load.
constexpr double busy_at_the_edge = 0.99, queued_at_the_edge = 0.05, steps_of_a_queue = 10;

/// Share of the requests that waited to begin for longer than for a few steps to end.
double queued_share(const Report& report) {
  const double longest_s = steps_of_a_queue * report.itl_ms.mean * 1e-3;
  const auto queued = std::ranges::count_if(report.rows, [&](const RequestRow& row) {
    return row.scheduled_s && *row.scheduled_s - row.arrival_s > longest_s;
  });
  return report.rows.empty()
             ? 0
             : static_cast<double>(queued) / static_cast<double>(report.rows.size());
}

const Value* engine_key(const Report& report, std::string_view key) {
  const Value* engine = report.scenario.find("engine");
  return engine == nullptr ? nullptr : engine->find(key);
}

/// TensorRT-LLM takes whole prompts behind the decodes of a step: one that leaves no room for them
/// waits until nothing else runs.
std::string starved_prompts(const Report& report) {
  const Value* scheduler = engine_key(report, "scheduler");
  const auto* name = scheduler == nullptr ? nullptr : std::get_if<std::string>(&scheduler->data);
  const Value* chunked = engine_key(report, "chunked_prefill");
  const auto* is_chunked = chunked == nullptr ? nullptr : std::get_if<bool>(&chunked->data);
  const Value* budget = engine_key(report, "batch_tokens_max");
  const auto* tokens = budget == nullptr ? nullptr : std::get_if<std::int64_t>(&budget->data);
  if (name == nullptr || *name != "tensorrt_llm" || tokens == nullptr) return "";
  if (is_chunked != nullptr && *is_chunked) return "";
  const auto starved = std::ranges::count_if(report.rows, [&](const RequestRow& row) {
    return static_cast<double>(row.prompt_tokens) + report.batch_mean >
           static_cast<double>(*tokens);
  });
  if (starved == 0 || report.batch_max < 2) return "";
  return fmt::format(
      "{} {} so long that a step of {} tokens has no room for decodes: TensorRT-LLM admits them "
      "only when nothing else runs. Raise engine.batch_tokens_max above the longest prompt plus "
      "engine.sequences_max, or set engine.chunked_prefill = true",
      grouped(starved), starved == 1 ? "prompt is" : "prompts are", grouped(*tokens));
}

std::string edge_of_capacity(const Report& report) {
  if (!is_at_edge(report)) return "";
  const bool is_simulated = report.intervals && report.intervals->is_simulated;
  return fmt::format(
      "the GPUs are busy {:.1f} % of the time and requests queue: this close to saturation, a few "
      "per cent more load or step time can multiply latencies; {}",
      100 * report.gpu_busy,
      is_simulated ? "the 90 % intervals, from two more runs, show by how much"
                   : "run.intervals = \"simulate\" shows by how much");
}

}  // namespace

bool is_at_edge(const Report& report) {
  return report.steady.basis == SteadyBasis::arrivals && report.gpu_busy >= busy_at_the_edge &&
         queued_share(report) >= queued_at_the_edge;
}

std::vector<std::string> run_warnings(const Report& report) {
  std::vector<std::string> warnings;
  for (std::string warning : {starved_prompts(report), edge_of_capacity(report)})
    if (!warning.empty()) warnings.push_back(std::move(warning));
  return warnings;
}

}  // namespace foretoken
