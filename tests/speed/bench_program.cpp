// The program as its users meet it: start-up alone (aim: 100 ms), and a whole simulation with
// requests and engine iterations a second (aim: 10,000 and 100,000), as a child process each time.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>

#include "sim/base/json.hpp"

#ifdef FORETOKEN_PROGRAM
namespace foretoken {
namespace {

/// What the program prints when it is run with `arguments` from the project's folder.
std::string output_of(const std::string& arguments) {
  const std::string command = "cd " FORETOKEN_SOURCE_DIR " && " FORETOKEN_PROGRAM " " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  FORETOKEN_CHECK(pipe != nullptr, "cannot run {}", command);
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), size);
  }
  const int status = pclose(pipe);
  FORETOKEN_CHECK(status == 0, "{} ended with status {}", command, status);
  return text;
}

void ProgramStartUp(benchmark::State& state) {
  for (auto _ : state) {
    output_of("simulate examples/quickstart.toml --quiet --set workload.requests=1");
  }
}
BENCHMARK(ProgramStartUp)->Unit(benchmark::kMillisecond)->UseRealTime();

void ProgramSimulate(benchmark::State& state) {
  const std::string arguments =
      "simulate examples/quickstart.toml --json --set workload.requests=" +
      std::to_string(state.range(0));
  std::int64_t iterations = 0;
  for (auto _ : state) {
    const Value report = parse_json(output_of(arguments), {"report.json"});
    iterations += std::get<std::int64_t>(report.find("iterations")->data);
  }
  state.counters["requests/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
  state.counters["iterations/s"] =
      benchmark::Counter(static_cast<double>(iterations), benchmark::Counter::kIsRate);
}
BENCHMARK(ProgramSimulate)->Arg(1000)->Arg(20000)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Cost grows with the replicas: `replicas/s` should stay as they double, up to 1,024 GPUs.
void ProgramReplicas(benchmark::State& state) {
  const auto replicas = state.range(0);
  const std::string arguments = fmt::format(
      "simulate examples/thousand_gpus.toml --quiet --set cluster.name=h100-sxm-8x{0} "
      "--set deployment.replicas={0} --set workload.requests={1} --set 'workload.rate={2} /s'",
      replicas, 40 * replicas, 5 * replicas);
  for (auto _ : state) output_of(arguments);
  state.counters["replicas/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * replicas), benchmark::Counter::kIsRate);
}
BENCHMARK(ProgramReplicas)
    ->RangeMultiplier(2)
    ->Range(16, 128)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace foretoken
#endif
