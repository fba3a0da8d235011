#include "sim/scenario/tables.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken {

void read_encoder_table(TableReader& engine, Scenario& scenario) {
  scenario.deployment.layout.encoder_by_data = false;
  const Value* given = engine.find_table("encoder");
  if (given == nullptr) return;
  TableReader table(*given, engine.diagnostics(), "engine.encoder");
  EncoderSettings& encoder = scenario.engine.encoder.emplace();
  encoder_keys().read(table, encoder);
  encoder.position = given->position;
  finish(table);
  engine.expect(
      "encoder", scenario.model.takes_media(),
      "has no effect: the model takes no images or audio, or how it tokenizes them is unknown");
  scenario.deployment.layout.encoder_by_data = encoder.parallel == EncoderParallel::data;
}

/// `spec` is one of several, or the whole deployment; images were cut as `scenario`'s model does.
void check_media(const Scenario& scenario, const PoolSpec& spec, Diagnostics& diagnostics) {
  const Scenario& pool = spec.scenario;
  if (!pool.workload->has_media()) {
    if (spec.encodes()) {
      diagnostics.add(pool.deployment_position,
                      fmt::format("pool \"{}\" encodes images and audio, but requests have none; "
                                  "add [workload.images] or [workload.audio], or remove the pool",
                                  spec.name));
    }
    return;
  }
  const auto refuse = [&](const std::string& why) {
    diagnostics.add(pool.engine.encoder ? pool.engine.encoder->position : pool.engine_position,
                    media_text(*pool.workload) + ": " + why);
  };
  if (pool.model.vision != scenario.model.vision || pool.model.audio != scenario.model.audio) {
    return refuse(
        "they are tokenized as by [model], but a pool serves another model; simulate the models "
        "one by one");
  }
  const ParallelLayout& layout = pool.deployment.layout;
  for (const Medium medium : all_media) {
    if (!pool.workload->has(medium)) continue;
    const std::string problem = encoder_problem(*pool.model.encoder(medium), layout);
    if (problem.empty()) continue;
    return refuse(problem +
                  "; set [engine.encoder] parallel = \"data\", or change tensor_parallel");
  }
  if (spec.encodes() && layout.tensor != layout.ranks()) {
    return refuse(
        "a pool that encodes has no layers of the language model to cut into stages or "
        "attention ranks; leave it tensor_parallel and replicas");
  }
  if (pool.execution.overlap != Overlap::none) {
    refuse(
        "they cannot be combined with overlap = \"two_batch\": which half of a step would wait "
        "for them is not modelled");
  }
  if (layout.prefill_context > 1) {
    refuse("they cannot be combined with prefill_context_parallel, whose ranks would share them");
  }
}

KeyTable encoder_key_table() {
  return {"engine.encoder", "",
          "How images and audio of requests are encoded, on the GPUs that serve the model. Which "
          "requests have any is set in [workload.images] and [workload.audio].",
          encoder_keys().notes()};
}

}  // namespace foretoken
