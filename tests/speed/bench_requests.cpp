// Drawing requests from generators: once a request (aim: far above 10,000 a second).
#include <benchmark/benchmark.h>

#include "sim/base/toml.hpp"
#include "workloads/requests/workload.hpp"

namespace foretoken {
namespace {

void RequestsPoissonLognormal(benchmark::State& state) {
  const Value root = parse_toml(R"([workload]
arrivals = "poisson"
rate = "4 /s"
requests = 1000000000
prompt_tokens = { distribution = "lognormal", mean = 1020, p99 = 4000 }
output_tokens = { distribution = "lognormal", mean = 240, p99 = 900 }
)",
                                "bench.toml");
  Diagnostics diagnostics;
  TableReader table(*root.find("workload"), diagnostics, "workload");
  const auto workload = read_workload(table, {});
  diagnostics.throw_if_any();
  const auto source = workload->start(RandomStreams(1));
  for (auto _ : state) benchmark::DoNotOptimize(source->next());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(RequestsPoissonLognormal);

}  // namespace
}  // namespace foretoken
