// The cost of reading files: what start-up (aim: 100 ms) and `foretoken predict` (one JSON object a
// line) are made of.
#include <benchmark/benchmark.h>

#include "sim/base/json.hpp"
#include "sim/base/random.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

void BaseParseToml(benchmark::State& state) {
  constexpr std::string_view text = R"([model]
name = "llama-3.1-8b"
dtype = "bf16"
[workload]
arrivals = "poisson"
rate = "4 /s"
prompt_tokens = { distribution = "lognormal", mean = 1020, p99 = 4000 }
output_tokens = { distribution = "lognormal", mean = 240, p99 = 900 }
[slo]
ttft = "500 ms"
)";
  for (auto _ : state) benchmark::DoNotOptimize(parse_toml(text, "bench.toml"));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BaseParseToml);

void BaseParseJsonLine(benchmark::State& state) {
  constexpr std::string_view line =
      R"({"kernel":"gemm","m":64,"n":6144,"k":4096,"dtype":"bf16","framework":"vllm"})";
  for (auto _ : state) benchmark::DoNotOptimize(parse_json(line, {"bench.jsonl", 1}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BaseParseJsonLine);

void BaseUniform(benchmark::State& state) {
  RandomStream stream = RandomStreams(1).stream("bench");
  for (auto _ : state) benchmark::DoNotOptimize(uniform(stream));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BaseUniform);

}  // namespace
}  // namespace foretoken
