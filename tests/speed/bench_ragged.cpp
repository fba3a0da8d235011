// Batches of unequal sequences, priced by the plans that their attention kernels launch: the first
// price of a batch (aim: 10 us), a decode step of one that stays together, and whole runs in which
// hardly any step is like another (aims: 6 us of CPU an iteration where prompts come in chunks,
// 60,000 iterations a second of a served trace).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "sim/base/json.hpp"
#include "sim/base/random.hpp"
#include "sim/serving/stage_pricer.hpp"
#include "tests/speed/program.hpp"

namespace foretoken {
namespace {

std::unique_ptr<Predictor> synperf() {
  const Value options;
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  return predictor_catalog().find("synperf", {}).make(table);
}

/// Decodes of unequal contexts, `shortest` to 40 times as many tokens.
AttentionLoad ragged_decodes(std::int64_t sequences, RandomStream& random, double shortest = 100) {
  std::vector<SequenceSlice> slices;
  for (std::int64_t i = 0; i < sequences; ++i) {
    slices.push_back(
        {1, static_cast<std::int64_t>(shortest * std::exp(uniform(random) * std::log(40)))});
  }
  return AttentionLoad::exact(std::move(slices));
}

struct Setup {
  const char* model;
  const char* gpu;
  int tensor_parallel = 1;
  double shortest = 100;  // context
};

/// What a batch's attention costs that nobody has priced yet.
void PricingRaggedPlan(benchmark::State& state, const Setup& setup) {
  const Transformer model = load_model(setup.model, {});
  const GpuSpec gpu = load_gpu(setup.gpu, {});
  const auto predictor = synperf();
  RandomStream random = RandomStreams(1).stream("batches");
  Attention attention{.query_heads = model.query_heads / setup.tensor_parallel,
                      .kv_heads = model.kv_heads / setup.tensor_parallel,
                      .head_dim = model.head_dim};
  std::vector<Kernel> batches;
  for (int i = 0; i < 100; ++i) {
    attention.load = ragged_decodes(state.range(0), random, setup.shortest);
    batches.emplace_back(attention);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(predictor->predict(batches[next], gpu));
    next = (next + 1) % batches.size();
  }
}

/// All of a decode step of one batch whose contexts grow, prices of new lattice points included.
void PricingRaggedDecodeStep(benchmark::State& state, const Setup& setup) {
  const Transformer model = load_model(setup.model, {});
  const MemoPredictor predictor(synperf(), load_gpu(setup.gpu, {}));
  const CommSettings comm{{load_fabric("nvswitch-hopper", {}), {}}, "ring"};
  StagePricer pricer(model, {}, {}, 0, GroupLinks(), comm, predictor);
  RandomStream random = RandomStreams(1).stream("batches");
  BatchShape first;
  first.attention = ragged_decodes(state.range(0), random);
  first.tokens = first.logit_rows = state.range(0);
  BatchShape batch = first;
  std::int64_t steps = 0;
  for (auto _ : state) {
    if (++steps % 1000 == 0) batch = first;
    for (SequenceSlice& slice : batch.attention.sequences) ++slice.context_tokens;
    batch.attention.decode.context_tokens += batch.attention.decode.sequences;
    batch.attention.decode.context_tokens_max += 1;
    benchmark::DoNotOptimize(pricer.price(batch));
  }
}

/// A step of as many tokens and rows of logits as none before: prompts in chunks beside decodes
/// make one of them in three steps.
void PricingNewStep(benchmark::State& state, const Setup& setup) {
  const Transformer model = load_model(setup.model, {});
  const MemoPredictor predictor(synperf(), load_gpu(setup.gpu, {}));
  const CommSettings comm{{load_fabric("nvswitch-hopper", {}), {}}, "ring"};
  std::optional<StagePricer> pricer;
  BatchShape batch;
  batch.attention = AttentionLoad::exact({{1, 1000}});
  constexpr std::int64_t tokens_max = 512, rows_max = 64;
  std::int64_t steps = 0;
  for (auto _ : state) {
    if (steps % (tokens_max * rows_max) == 0)
      pricer.emplace(model, ParallelLayout{}, ExecutionSettings{}, 0, GroupLinks(), comm,
                     predictor);
    batch.tokens = rows_max + steps % tokens_max;
    batch.logit_rows = 1 + steps / tokens_max % rows_max;
    ++steps;
    benchmark::DoNotOptimize(pricer->price(batch));
  }
}
BENCHMARK_CAPTURE(PricingNewStep, llama_2_7b_a100, Setup{"llama-2-7b", "a100-sxm"});

#define FORETOKEN_RAGGED(bench)                                                                  \
  BENCHMARK_CAPTURE(bench, llama_8b_h200, Setup{"llama-3.1-8b", "h200-sxm"})->Arg(64)->Arg(256); \
  BENCHMARK_CAPTURE(bench, llama_2_7b_a100, Setup{"llama-2-7b", "a100-sxm"})->Arg(64)
FORETOKEN_RAGGED(PricingRaggedPlan);
BENCHMARK_CAPTURE(PricingRaggedPlan, agents_70b_tp8_h100,
                  Setup{"llama-3.1-70b", "h100-sxm", 8, 800})
    ->Arg(36);
FORETOKEN_RAGGED(PricingRaggedDecodeStep);

#ifdef FORETOKEN_PROGRAM

/// CPU time of all child processes so far, in seconds.
double children_cpu() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void run_program(benchmark::State& state, const std::string& arguments) {
  std::int64_t iterations = 0;
  const double before = children_cpu();
  for (auto _ : state) {
    const Value report = parse_json(program_output(arguments), {"report.json"});
    iterations += std::get<std::int64_t>(report.find("iterations")->data);
  }
  const double cpu = children_cpu() - before;
  state.counters["us/iteration"] = 1e6 * cpu / static_cast<double>(iterations);
  state.counters["iterations/s"] = static_cast<double>(iterations) / cpu;
}

void ProgramRagged(benchmark::State& state) {
  run_program(state, "simulate tests/speed/ragged.toml --json");
}
BENCHMARK(ProgramRagged)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Azure's conversation trace on Llama-3.1-70B TP4, four H200.
void ProgramServedTrace(benchmark::State& state) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) return state.SkipWithError("FORETOKEN_DATA is not set");
  run_program(
      state, fmt::format("simulate examples/trace_azure.toml --json --set workload.trace={}/traces/"
                         "AzureLLMInferenceTrace_conv.csv.gz --set workload.rate_scale=1 "
                         "--set model.name=llama-3.1-70b --set cluster.name=h200-sxm-4 "
                         "--set deployment.tensor_parallel=4",
                         folder));
}
BENCHMARK(ProgramServedTrace)->Unit(benchmark::kMillisecond)->UseRealTime();

#endif

}  // namespace
}  // namespace foretoken
