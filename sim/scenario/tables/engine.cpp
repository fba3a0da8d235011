#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_engine_table(TableReader table, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  table.read("scheduler", engine.scheduler.name);
  engine.scheduler.position = table.position("scheduler");
  table.read("batch_tokens_max", engine.batch_tokens_max);
  table.expect("batch_tokens_max", engine.batch_tokens_max >= 1, "must be at least 1");
  read_positive(table, "sequences_max", engine.sequences_max);
  read_positive(table, "block_tokens", engine.block_tokens);
  table.read("memory_utilization", engine.memory_utilization);
  table.expect("memory_utilization",
               engine.memory_utilization > 0.0 && engine.memory_utilization <= 1.0,
               "is a share of the GPU's memory: above 0, at most 1");
  table.read("kv_blocks", engine.kv_blocks);
  table.expect("kv_blocks", engine.kv_blocks >= 0, "must be at least 1 (or 0: from memory)");
  table.read("prefix_caching", engine.prefix_caching);
  table.read("framework", scenario.execution.implementation.framework);
  table.read("overlap", scenario.execution.overlap);
  table.expect(
      "overlap",
      scenario.execution.overlap == Overlap::none || scenario.deployment.layout.stage_ranks() > 1,
      "hides communication, and with one GPU a stage there is none; leave it out");
  table.read("host_time", engine.host_time);
  table.expect("host_time", engine.host_time >= Seconds(0.0), "must not be negative");
  table.expect("batch_tokens_max", engine.batch_tokens_max >= engine.sequences_max,
               fmt::format("{} is below sequences_max = {}: every decoding sequence needs a token "
                           "of the budget; raise it or lower sequences_max",
                           engine.batch_tokens_max, engine.sequences_max));
  scenario.execution.block_tokens = engine.block_tokens;
  scenario.engine_position = table.position("memory_utilization");
  take_options(table, engine.scheduler);
}

Value resolved_engine_table(const Scenario& scenario) {
  Value engine;
  engine.set("scheduler", scenario.engine.scheduler.name);
  engine.set("batch_tokens_max", scenario.engine.batch_tokens_max);
  engine.set("sequences_max", scenario.engine.sequences_max);
  engine.set("block_tokens", scenario.engine.block_tokens);
  engine.set("memory_utilization", scenario.engine.memory_utilization);
  engine.set("kv_blocks", scenario.engine.kv_blocks);
  engine.set("prefix_caching", scenario.engine.prefix_caching);
  engine.set("framework", std::string(enum_name(scenario.execution.implementation.framework)));
  if (scenario.execution.overlap != Overlap::none) {
    engine.set("overlap", std::string(enum_name(scenario.execution.overlap)));
  }
  engine.set("host_time", exact_text(scenario.engine.host_time));
  append_options(engine, scenario.engine.scheduler.options);
  return engine;
}

}  // namespace foretoken
