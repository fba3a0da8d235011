// What became of a pool of replicas: how busy they were, how many there were, what they cost and
// used, and where a GPU's memory went. Internal to sim/run.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/run/summary.hpp"

namespace foretoken {

/// KV blocks of one replica.
std::int64_t blocks_of(const DeployedPools& pools, std::size_t pool);
/// Of the prompt tokens asked for.
double hit_rate(const PrefixCounts& prefixes, std::int64_t tokens);
/// Share of the pool's GPU time with a step running.
double busy_share(const SimulatedRun& outcome, std::size_t pool);
/// What a GPU's capacity went to, largest purposes first; together they are the capacity.
std::vector<NamedCount> memory_pieces(const DeployedEngine& engine);
std::vector<NamedCount> memory_pieces(const MemoryPlan& plan, std::int64_t kv_blocks);

/// How many replicas there were, over all pools, where they come and go.
void add_fleet(const SimulatedRun& outcome, Report& report);
/// Needs the report's steady state and throughput.
void add_cost(const SimulatedRun& outcome, Report& report);
/// The power limit while a step runs, idle power else, and what nodes draw beside their GPUs.
void add_energy(const SimulatedRun& outcome, Report& report);
/// Each pool by itself; nothing where there is one without a name.
void add_pools(const Scenario& scenario, const SimulatedRun& outcome, Report& report);

}  // namespace foretoken
