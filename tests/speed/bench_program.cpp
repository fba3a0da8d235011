// The program as its users meet it: start-up alone (aim: 100 ms), and a whole simulation with
// requests and engine iterations a second (aim: 10,000 and 100,000), as a child process each time.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/base/json.hpp"
#include "tests/speed/program.hpp"

#ifdef FORETOKEN_PROGRAM
namespace foretoken {
namespace {

void ProgramStartUp(benchmark::State& state) {
  for (auto _ : state) {
    program_output("simulate examples/quickstart.toml --quiet --set workload.requests=1");
  }
}
BENCHMARK(ProgramStartUp)->Unit(benchmark::kMillisecond)->UseRealTime();

void ProgramSimulate(benchmark::State& state) {
  const std::string arguments =
      "simulate examples/quickstart.toml --json --set workload.requests=" +
      std::to_string(state.range(0));
  std::int64_t iterations = 0;
  for (auto _ : state) {
    const Value report = parse_json(program_output(arguments), {"report.json"});
    iterations += std::get<std::int64_t>(report.find("iterations")->data);
  }
  state.counters["requests/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
  state.counters["iterations/s"] =
      benchmark::Counter(static_cast<double>(iterations), benchmark::Counter::kIsRate);
}
BENCHMARK(ProgramSimulate)->Arg(1000)->Arg(20000)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The whole Mooncake trace with prefix caching (aim: 20,000 iterations a second): 8 replicas, and
/// one that falls behind, without and with a host tier.
void ProgramMooncake(benchmark::State& state, const char* settings) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) return state.SkipWithError("FORETOKEN_DATA is not set");
  const std::string arguments = fmt::format(
      "simulate examples/trace_mooncake.toml --json "
      "--set workload.trace={}/traces/mooncake_conversation.jsonl.gz {}",
      folder, settings);
  std::int64_t iterations = 0;
  double found = 0;
  for (auto _ : state) {
    const Value report = parse_json(program_output(arguments), {"report.json"});
    iterations += std::get<std::int64_t>(report.find("iterations")->data);
    found = std::get<double>(report.find("kv")->find("prefix_hit_rate")->data);
  }
  state.counters["found %"] = 100.0 * found;
  state.counters["iterations/s"] =
      benchmark::Counter(static_cast<double>(iterations), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(ProgramMooncake, eight_replicas,
                  "--set cluster.name=h200-sxm-8 --set deployment.replicas=8")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(ProgramMooncake, one_replica, "--set cluster.name=h200-sxm-1")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(ProgramMooncake, one_replica_and_host,
                  "--set cluster.name=h200-sxm-1 --set engine.host_kv=auto")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(ProgramMooncake, replicas_swap_and_host,
                  "--set cluster.name=rtx-4090-8 --set deployment.replicas=8 "
                  "--set engine.host_kv='48 GiB' --set engine.preemption=swap "
                  "--set engine.batch_tokens_max=2048")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Cost grows with the replicas: `replicas/s` should stay as they double, up to 1,024 GPUs.
void ProgramReplicas(benchmark::State& state) {
  const auto replicas = state.range(0);
  const std::string arguments = fmt::format(
      "simulate examples/thousand_gpus.toml --quiet --set cluster.name=h100-sxm-8x{0} "
      "--set deployment.replicas={0} --set workload.requests={1} --set 'workload.rate={2} /s'",
      replicas, 40 * replicas, 5 * replicas);
  for (auto _ : state) program_output(arguments);
  state.counters["replicas/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * replicas), benchmark::Counter::kIsRate);
}
BENCHMARK(ProgramReplicas)
    ->RangeMultiplier(2)
    ->Range(16, 128)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Agents on up to 1,024 GPUs behind a router that knows caches, load in proportion: what a call
/// costs should stay (aim: 60 us a call and 2 GB for a million of them).
void ProgramAgents(benchmark::State& state) {
  const auto replicas = state.range(0) / 8;
  const std::int64_t calls = 200 * replicas;
  const auto arguments = [&](std::int64_t requests) {
    return fmt::format(
        "simulate examples/agents.toml --json --set model.name=llama-3.1-70b "
        "--set cluster.name=h100-sxm-8x{0} --set deployment.tensor_parallel=8 "
        "--set deployment.replicas={0} --set workload.requests={1} --set 'workload.rate={2} /s'",
        replicas, requests, 0.5 * static_cast<double>(replicas));
  };
  const std::int64_t bytes_idle = run_program(arguments(1)).bytes_peak;
  double cpu_s = 0;
  std::int64_t iterations = 0, bytes = 0;
  for (auto _ : state) {
    const ProgramRun run = run_program(arguments(calls));
    const Value report = parse_json(run.text, {"report.json"});
    iterations += std::get<std::int64_t>(report.find("iterations")->data);
    cpu_s += run.cpu_s;
    bytes = std::max(bytes, run.bytes_peak - bytes_idle);
  }
  const auto all = static_cast<double>(state.iterations() * calls);
  state.counters["calls/s"] = all / cpu_s;
  state.counters["us/call"] = 1e6 * cpu_s / all;
  state.counters["us/iteration"] = 1e6 * cpu_s / static_cast<double>(iterations);
  state.counters["bytes/call"] = static_cast<double>(bytes) / static_cast<double>(calls);
}
BENCHMARK(ProgramAgents)->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace foretoken
#endif
