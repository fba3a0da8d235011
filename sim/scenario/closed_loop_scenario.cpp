#include "sim/scenario/closed_loop_scenario.hpp"

#include <algorithm>
#include <array>

#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

struct EngineName {
  std::string_view recorded, preset;
};
constexpr auto engine_names = std::to_array<EngineName>(
    {{"vllm", "vllm-v1"}, {"sglang", "sglang"}, {"trtllm", "tensorrt-llm"}});

std::string preset_of(const ClosedLoopPoint& point) {
  std::vector<std::string_view> known;
  for (const EngineName& name : engine_names) {
    if (name.recorded == point.engine) return std::string(name.preset);
    known.push_back(name.recorded);
  }
  throw ConfigError(point.position, unknown_name_message("backend", point.engine, known));
}

/// Formats that change what is computed; others are those the model was published in.
void set_format(Value& model, std::string_view key, std::string_view recorded) {
  if (recorded == "fp8" || recorded == "fp8_block") model.set(key, std::string(recorded));
}

}  // namespace

ServerSettings::ServerSettings(const std::filesystem::path& toml) : root_(load_toml(toml)) {
  Diagnostics diagnostics;
  TableReader reader(root_, diagnostics, "");
  reader.read("requests_per_user", requests_per_user_);
  reader.expect("requests_per_user", requests_per_user_ >= 1, "must be at least 1");
  reader.read("calibration_tensor_parallel", calibration_tensor_parallel_);
  (void)reader.find_table("workload");
  (void)reader.find_table("engines");
  (void)reader.find_table("models");
  reader.finish();
  diagnostics.throw_if_any();
}

bool ServerSettings::is_calibration(const ClosedLoopPoint& point) const {
  return point.tensor_parallel == calibration_tensor_parallel_;
}

void ServerSettings::apply(std::string_view family, const std::string& name,
                           const ClosedLoopPoint& point, Value& scenario) const {
  constexpr std::string_view without_slot = "users_without_slot";
  const Value* entries = root_.find(family);
  const Value* entry = entries != nullptr ? entries->find(name) : nullptr;
  if (entry == nullptr || !entry->is_object()) return;
  for (const auto& [table, settings] : std::get<ValueObject>(entry->data)) {
    if (table == without_slot) {
      Diagnostics diagnostics;
      TableReader reader(*entry, diagnostics, fmt::format("{}.{}", family, name));
      int users = 0;
      reader.read(without_slot, users);
      reader.expect(without_slot, users >= 0, "must not be negative");
      diagnostics.throw_if_any();
      Value engine = *scenario.find("engine");
      engine.set("sequences_max", std::max(1, point.users - users));
      scenario.set("engine", std::move(engine));
      continue;
    }
    if (!settings.is_object()) {
      throw ConfigError(settings.position, fmt::format("expected a table of the scenario, such as "
                                                       "[{}.{}.engine]",
                                                       family, name));
    }
    const Value* before = scenario.find(table);
    Value merged = before != nullptr ? *before : Value();
    for (const auto& [key, value] : std::get<ValueObject>(settings.data)) merged.set(key, value);
    scenario.set(table, std::move(merged));
  }
}

Value ServerSettings::scenario(const ClosedLoopPoint& point) const {
  const std::string model_name = model_called(point.model, point.position);
  std::string gpu = point.system;
  std::ranges::replace(gpu, '_', '-');
  Value model, cluster, deployment, engine, workload, scenario;
  model.set("name", model_name);
  set_format(model, "dtype", point.gemm_format);
  // Checkpoints that ModelOpt has quantised to fp8, a scale a tensor, say fp8 of the KV cache too,
  // and TensorRT-LLM follows them; those with a scale a block say nothing of it.
  if (point.engine == "trtllm" && point.gemm_format == "fp8") model.set("kv_dtype", "fp8");
  cluster.set("name", fmt::format("{}-8", gpu));
  deployment.set("tensor_parallel", point.tensor_parallel);
  deployment.set("pipeline_parallel", point.pipeline_parallel);
  if (point.expert_parallel > 1) deployment.set("expert_parallel", point.expert_parallel);
  engine.set("preset", preset_of(point));
  workload.set("arrivals", "closed_loop");
  workload.set("users", point.users);
  workload.set("requests", requests_per_user_ * point.users);
  workload.set("prompt_tokens", point.prompt_tokens);
  workload.set("output_tokens", point.output_tokens);
  if (const Value* clients = root_.find("workload"); clients != nullptr && clients->is_object()) {
    for (const auto& [key, value] : std::get<ValueObject>(clients->data)) workload.set(key, value);
  }
  scenario.set("model", std::move(model));
  scenario.set("cluster", std::move(cluster));
  scenario.set("deployment", std::move(deployment));
  scenario.set("engine", std::move(engine));
  scenario.set("workload", std::move(workload));
  apply("engines", point.engine, point, scenario);
  apply("engines", fmt::format("{} {}", point.engine, point.version), point, scenario);
  apply("models", model_name, point, scenario);
  return scenario;
}

}  // namespace foretoken
