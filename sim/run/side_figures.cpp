#include "sim/run/side_figures.hpp"

#include "sim/run/pool_figures.hpp"

namespace foretoken {

std::optional<SideFigures> sides_of(const DeployedPools& pools, std::size_t pool) {
  const Scenario& scenario = pools.specs()[pool].scenario;
  const DeployedEngine& engine = pools.engine(pool);
  if (!engine.expert_memory()) return std::nullopt;
  SideFigures figures;
  figures.gpu = expert_gpu(scenario).title;
  figures.attention_gpus = scenario.deployment.layout.attention_ranks();
  figures.expert_gpus = scenario.deployment.layout.expert_gpus;
  figures.micro_batches = scenario.execution.expert_micro_batches;
  const SideTimes sides = engine.totals().sides;
  if (sides.step > Seconds(0.0)) {
    figures.attention_busy = sides.attention / sides.step;
    figures.experts_busy = sides.experts / sides.step;
    figures.links_busy = sides.links / sides.step;
  }
  figures.memory_bytes = memory_pieces(*engine.expert_memory(), 0);
  return figures;
}

}  // namespace foretoken
