// From a batch's shape to the kernels of a stage: once an engine step.
#include <benchmark/benchmark.h>

#include "models/transformer.hpp"
#include "workloads/generator.hpp"

namespace foretoken {
namespace {

BatchShape decode_batch(std::int64_t sequences) {
  BatchShape batch;
  batch.tokens = batch.logit_rows = sequences;
  for (std::int64_t i = 0; i < sequences; ++i) batch.attention.decode.add({1, 1000 + 7 * i});
  return batch;
}

void generate_steps(benchmark::State& state, const char* model_name, const ParallelLayout& layout) {
  const Transformer model = load_model(model_name, {});
  const ExecutionSettings settings;
  const BatchShape batch = decode_batch(64);
  for (auto _ : state) {
    benchmark::DoNotOptimize(generate(model, layout, settings, batch, 0));
  }
  state.SetItemsProcessed(state.iterations());
}

void GeneratorDense(benchmark::State& state) {
  generate_steps(state, "llama-3.1-8b", ParallelLayout{});
}
BENCHMARK(GeneratorDense);

void GeneratorMoeSharded(benchmark::State& state) {
  ParallelLayout layout;
  layout.tensor = 4;
  generate_steps(state, "qwen3-30b-a3b", layout);
}
BENCHMARK(GeneratorMoeSharded);

}  // namespace
}  // namespace foretoken
